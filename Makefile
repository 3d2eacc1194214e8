# kprof-top: build, check, bench, install. `make help` lists the targets.
# Each flavour (plain, asan, tsan, fuzz) has its own directory under build/.

PREFIX  ?= /usr/local
DESTDIR ?=
BINDIR   = $(PREFIX)/bin
MANDIR   = $(PREFIX)/share/man/man1
BASHDIR  = $(PREFIX)/share/bash-completion/completions
ZSHDIR   = $(PREFIX)/share/zsh/site-functions

VERSION := 0.1.0

CC      ?= cc
FLAVOUR ?= plain
B       := build/$(FLAVOUR)
A       := build/agent

# Targets that build nothing in this make need no Erlang here; a sub-make looks for it.
NO_ERL  := help deps deps-fuzz demo clean distclean check bench check-unit check-asan check-tsan check-fuzz check-includes \
           check-format check-man check-dialyzer check-node check-screen check-agent check-chaos chaos overload soak large check-survive check-real real check-smoke quick test survive survive-rabbitmq impact uninstall screenshots format
GOALS   := $(or $(MAKECMDGOALS),all)

# The Erlang of this machine reports where libei is. This is looked up once and passed to sub-makes, if it was found.
ifndef ERL_EI
ifneq ($(filter-out $(NO_ERL),$(GOALS)),)
ERL_EI  := $(shell erl -noinput -eval 'case code:lib_dir(erl_interface) of D when is_list(D) -> io:put_chars(D); _ -> ok end, halt().' 2>/dev/null)
endif
endif
ifneq ($(ERL_EI),)
export ERL_EI
endif
EI_INC  := $(if $(ERL_EI),-isystem $(ERL_EI)/include)
EI_LIB  := $(if $(ERL_EI),$(ERL_EI)/lib/libei.a)

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
OPT_plain := -O2 -g
OPT_asan  := -O1 -g1 -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
OPT_tsan  := -O1 -g1 -fsanitize=thread
OPT_fuzz  := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
ifeq ($(OPT_$(FLAVOUR)),)
$(error FLAVOUR is plain, asan, tsan or fuzz, not "$(FLAVOUR)")
endif
ifeq ($(FLAVOUR),fuzz)
CC := clang
endif

# CPPFLAGS, CFLAGS, LDFLAGS and WERROR are for the user; the necessary flags are added to them.
KP_CPPFLAGS := -D_GNU_SOURCE -D_REENTRANT -DKPROF_VERSION='"$(VERSION)"' -Iinclude $(EI_INC) $(CPPFLAGS)
KP_CFLAGS   := -std=c11 -pthread $(WARN) $(WERROR) $(OPT_$(FLAVOUR)) $(CFLAGS)
KP_LDFLAGS  := -pthread $(OPT_$(FLAVOUR)) $(LDFLAGS)
LIBS        := $(EI_LIB) -lssl -lcrypto -lncursesw -ltinfo -lz -lm
TEST_CFLAGS := -Itests/lib -Isrc -Wno-missing-prototypes
# More than a hundred programs are linked: gold needs half the time.
TEST_LD     := $(if $(shell command -v ld.gold),-fuse-ld=gold)

# The layers in the table of src/README.md, the lowest first.
LAYERS   := $(shell sed -n '/^```layers/,/^```$$/s/^\([a-z][a-z]*\) .*/\1/p' src/README.md)
SRC     := $(wildcard $(addprefix src/,$(addsuffix /*.c,$(LAYERS))))
OBJ     := $(patsubst src/%.c,$(B)/obj/%.o,$(filter-out src/app/main.c,$(SRC))) $(B)/obj/agent_blob.o $(B)/obj/page_blob.o \
           $(B)/obj/terminfo_blob.o
MAIN    := $(B)/obj/app/main.o
# Terminals that work without terminfo files.
TERMS   := xterm xterm-256color screen screen-256color tmux tmux-256color linux vt100 vt220 rxvt
PARTS   := $(wildcard src/agent/kprof_*.erl)
MERGED  := $(A)/kprof_agent_00.beam $(A)/kprof_tools_00.beam
BEAMS   := $(MERGED) $(A)/kprof_sample.beam
# A library for each layer. They are linked from the top layer down, so that no layer can use one above it.
reversed = $(if $(1),$(call reversed,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
libs_of  = $(patsubst %,$(B)/libkprof_%.a,$(1))
LIBS_ALL := $(call libs_of,$(call reversed,$(LAYERS)))

UNIT    := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))
BENCH   := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/bench_*.c))
FUZZ    := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
TESTLIB := $(patsubst tests/lib/%.c,$(B)/testlib/%.o,$(wildcard tests/lib/*.c))
TESTOBJ := $(addsuffix .o,$(UNIT) $(BENCH) $(FUZZ)) $(TESTLIB)

.PHONY: all
all: build/kprof-top

# The plain program, under a constant name.
build/kprof-top: build/plain/kprof-top
	@cp -f $< $@.tmp && mv -f $@.tmp $@

# For containers: the same objects in one file that needs no shared library. The linker warns of functions that may load
# some at run time; src/app/static_program.c prevents this.
.PHONY: static
static: build/kprof-top-static
build/kprof-top-static: $(MAIN) $(OBJ) $(B)/objects
	@$(CC) $(KP_LDFLAGS) -static -s -Wl,--no-warnings -o $@.$$$$ $(MAIN) $(OBJ) $(LIBS) && mv -f $@.$$$$ $@

# All objects are linked, not the libraries, so that duplicate function names are always errors.
$(B)/kprof-top: $(MAIN) $(OBJ) $(B)/objects
	$(CC) $(KP_LDFLAGS) -o $@ $(MAIN) $(OBJ) $(LIBS)
ifneq ($(FLAVOUR),plain)
build/plain/kprof-top: FORCE
	@$(MAKE) --no-print-directory FLAVOUR=plain $@
endif

# The layer trace contains the bytes of the agent, export those of the flame graph page, ui those of
# the terminfo entries.
define layer_library
$(B)/libkprof_$(1).a: $(filter $(B)/obj/$(1)/%,$(OBJ)) $(if $(filter trace,$(1)),$(B)/obj/agent_blob.o) $(if $(filter export,$(1)),$(B)/obj/page_blob.o) $(if $(filter ui,$(1)),$(B)/obj/terminfo_blob.o) $(B)/objects
	@rm -f $$@
	@$$(AR) qcs $$@ $$(filter %.o,$$^)
endef
$(foreach layer,$(LAYERS),$(eval $(call layer_library,$(layer))))

# Lists of the objects and sources, and the compiler flags: a removed file or another compiler causes a rebuild.
$(B)/objects: FORCE
	@mkdir -p $(@D); echo '$(OBJ)' | cmp -s - $@ || echo '$(OBJ)' > $@
$(B)/how: FORCE
	@mkdir -p $(@D); echo '$(CC) $(VERSION) $(EI_INC) $(OPT_$(FLAVOUR))' | cmp -s - $@ || echo '$(CC) $(VERSION) $(EI_INC) $(OPT_$(FLAVOUR))' > $@
$(A)/list: FORCE
	@mkdir -p $(@D); echo '$(PARTS)' | cmp -s - $@ || echo '$(PARTS)' > $@

$(B)/obj/%.o: src/%.c $(B)/how | need-erl
	@mkdir -p $(@D)
	$(CC) $(KP_CPPFLAGS) $(KP_CFLAGS) -MMD -MP -c -o $@ $<

# The agent: many Erlang sources are merged into two modules, compiled, and embedded as bytes. Each source is also
# compiled separately, for its warnings.
$(MERGED) &: src/agent/merge.escript $(PARTS) $(wildcard src/agent/*.hrl) $(A)/list | need-erl
	@rm -rf $(A)/parts; mkdir -p $(A)/parts
	erlc -Werror +deterministic +no_debug_info -o $(A)/parts $(PARTS)
	escript src/agent/merge.escript $(A) $(PARTS)
$(A)/kprof_sample.beam: src/app/kprof_sample.erl | need-erl
	@mkdir -p $(@D)
	erlc -Werror +deterministic +no_debug_info -o $(@D) $<

build/agent_blob.c: $(BEAMS) src/agent/embed.sh $(A)/list
	@sh src/agent/embed.sh $(BEAMS) > $@.tmp && mv -f $@.tmp $@

$(B)/obj/agent_blob.o: build/agent_blob.c $(B)/how
	@mkdir -p $(@D)
	$(CC) $(KP_CPPFLAGS) $(KP_CFLAGS) -MMD -MP -c -o $@ $<

build/page_blob.c: src/export/flame_page.js src/export/flame_page.css src/export/embed.sh
	@mkdir -p $(@D)
	@sh src/export/embed.sh src/export/flame_page.js src/export/flame_page.css > $@.tmp && mv -f $@.tmp $@

$(B)/obj/page_blob.o: build/page_blob.c $(B)/how
	@mkdir -p $(@D)
	$(CC) $(KP_CPPFLAGS) $(KP_CFLAGS) -MMD -MP -c -o $@ $<

build/terminfo_blob.c: src/ui/terminfo.sh
	@mkdir -p $(@D)
	@sh src/ui/terminfo.sh $(TERMS) > $@.tmp && mv -f $@.tmp $@

$(B)/obj/terminfo_blob.o: build/terminfo_blob.c $(B)/how
	@mkdir -p $(@D)
	$(CC) $(KP_CPPFLAGS) $(KP_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/testlib/%.o: tests/lib/%.c $(B)/how
	@mkdir -p $(@D)
	$(CC) $(KP_CPPFLAGS) $(KP_CFLAGS) $(TEST_CFLAGS) -MMD -MP -c -o $@ $<
define test_object
$(B)/$(1)/%.o: tests/$(1)/%.c $(B)/how
	@mkdir -p $$(@D)
	$$(CC) $$(KP_CPPFLAGS) $$(KP_CFLAGS) $$(TEST_CFLAGS) -MMD -MP -c -o $$@ $$<
endef
$(foreach kind,unit bench fuzz,$(eval $(call test_object,$(kind))))

# A unit test is linked with the layers that it includes and those below. The test helpers are in an archive, so that a
# test links only the helpers that it uses, and needs only their layers.
.SECONDEXPANSION:
$(B)/unit/%: $(B)/unit/%.o $(B)/libtest.a $$(call libs_of,$$(shell sh tests/tools/layers.sh "$(LAYERS)" tests/unit/$$*.c))
	@$(CC) $(KP_LDFLAGS) $(TEST_LD) -o $@ $^ $(LIBS) -lcmocka
$(B)/bench/%: $(B)/bench/%.o $(B)/libtest.a $(LIBS_ALL)
	@$(CC) $(KP_LDFLAGS) -o $@ $^ $(LIBS) -lcmocka
$(B)/fuzz/fuzz_tls: $(B)/testlib/tls_pki.o
$(B)/fuzz/%: $(B)/fuzz/%.o $(LIBS_ALL)
	@$(CC) $(KP_LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS)
$(B)/libtest.a: $(TESTLIB)
	@rm -f $@
	@$(AR) qcs $@ $^

$(B)/keydocs: tests/tools/keydocs.c $(LIBS_ALL) $(B)/how
	@$(CC) $(KP_CPPFLAGS) $(KP_CFLAGS) -o $@ $< $(LIBS_ALL) $(LIBS)

# Writes files for other tools, for tests/node/test_flame_files.py.
$(B)/stacks_files: tests/tools/stacks_files.c $(B)/libtest.a $(LIBS_ALL) $(B)/how
	@$(CC) $(KP_CPPFLAGS) $(KP_CFLAGS) $(TEST_CFLAGS) -o $@ $< $(B)/libtest.a $(LIBS_ALL) $(LIBS)

.PRECIOUS: $(TESTOBJ)
-include $(OBJ:.o=.d) $(MAIN:.o=.d) $(TESTOBJ:.o=.d)

.PHONY: unit bench-programs fuzz-programs FORCE need-erl
unit: $(UNIT)
bench-programs: $(BENCH)
fuzz-programs: $(FUZZ)
FORCE:
need-erl:
	@$(if $(ERL_EI),:,echo "No Erlang with erl_interface found (erl in PATH; Debian: erlang-base, erlang-dev). make deps installs what is missing." >&2; exit 1)

# ---- targets for users -----------------------------------------------------------------------------------------------

SUB  = @$(MAKE) --no-print-directory
JOBS := $(shell nproc 2>/dev/null || echo 2)
TOOLS := tests/tools

.PHONY: help
help:
	@echo 'Build'
	@echo '  make                  build/kprof-top'
	@echo '  make deps             install missing packages for build and checks (Debian, apt-get); deps-fuzz: also for fuzzing'
	@echo '  make static           build/kprof-top-static, which needs no shared library: for containers'
	@echo '  make demo             build, start the sample node under load, and attach to it; without a terminal: a few text tables with findings'
	@echo '  make install          PREFIX=$(PREFIX) DESTDIR=$(DESTDIR); make uninstall removes it'
	@echo '  make clean            remove build/, except for the Debian roots of the tests (build/otp, build/real); make distclean removes all'
	@echo 'Edit and test (src/CONTRIBUTING.md)'
	@echo '  make quick            unit tests, includes, format and one node test: under a minute'
	@echo '  make test T=NAME      one test: unit/test_hist, node/test_counts, node/test_counts:test_recursion, screen/test_keys,'
	@echo '                        agent/sampling; T=unit: all of a kind. A part of a name is enough, except for unit tests'
	@echo '  UPDATE_GOLDENS=1 make test T=unit   write every file of tests/golden; then read git diff'
	@echo '  make format           format every C file with clang-format'
	@echo '  make docs             write the table of keys into README.md and kprof.1'
	@echo '  make screenshots      make the files of screenshots/'
	@echo '  make map              print the layers, the units of each from the top down, and the layers that it uses'
	@echo 'Check'
	@echo '  make check            the suites below; the last line has the counts. One suite: check-unit check-asan check-tsan'
	@echo '                        check-includes check-format check-man check-docs check-dialyzer check-agent'
	@echo '                        check-node check-screen check-chaos check-survive check-real; not in make check: check-fuzz (60 s a target)'
	@echo 'Measure, on an idle machine (RESULTS: writes the values into tests/RESULTS.md)'
	@echo '  make bench            benchmarks; each prints its value and its limit'
	@echo '  make impact           the effect on a node and its clients: OTP="25 27 29" PART="clients jump loop cost stacks mailbox" WRITE= ARGS='
	@echo '  make large            a node of PROCESSES=200000: attach, detach, longest stall (OTP=, RUNS=; RESULTS)'
	@echo '  make survive          ROUNDS=100 attaches to nodes under stress, on each OTP (SEED= OTP=; RESULTS)'
	@echo '  make survive-rabbitmq ATTACHES=50 attaches to RabbitMQ under load (installs RabbitMQ)'
	@echo '  make real             on widely used servers, installed if missing: SERVER="yaws rabbitmq" OTP="25 27 29" TURNS=5 WRITE=FILE'
	@echo '  make chaos            ROUNDS=200 failures of each kind, on each OTP (SEED= OTP=)'
	@echo '  make overload         three minutes of overload: the breaker, memory and throughput of the node'
	@echo '  make soak             MINUTES=30 at RATE=20000 requests/s: every call is accounted for, memory does not grow'
	@echo 'Variables: FLAVOUR=plain|asan|tsan|fuzz, WERROR=-Werror, CFLAGS, JOBS; KPROF_TEST_JOBS=1, ONLY=word (check-agent,'
	@echo '           check-node, check-screen)'

.PHONY: deps deps-fuzz
deps:
	@sh $(TOOLS)/deps.sh build check
deps-fuzz:
	@sh $(TOOLS)/deps.sh build fuzz

# erl may be missing before deps, so a sub-make looks for it.
.PHONY: demo
demo:
	@sh $(TOOLS)/deps.sh build
	$(SUB) -s -j$(JOBS) all
	@if [ -t 0 ] && [ -t 1 ]; then exec build/kprof-top --demo; \
	else exec build/kprof-top --demo --batch -n 3 -d 2s --format text --why; fi

# unit builds the program. Then three lanes run, which take about the same time.
.PHONY: check
check:
	@sh $(TOOLS)/deps.sh build check
	@MAKE='$(MAKE)' python3 $(TOOLS)/check.py unit -- node real dialyzer -- agent screen \
	    -- asan tsan survive chaos format includes man docs

# The number of test files (node, screen) that run at the same time; agent: all OTP releases at once, or, with 1, one by one.
export KPROF_TEST_JOBS ?= 2

# Tests of the whole program on a real node, for each sanitizer.
UNDER_SANITIZER := 'test_exact_counts(25' test_record_then_replay test_hostile_identities test_node_dies_in_batch 'test_cookie_refused(25'

.PHONY: check-unit check-asan check-tsan
check-unit:
	$(SUB) -s -j$(JOBS) WERROR=-Werror unit all
	@KPROF_UNIT_JOBS=$(JOBS) sh $(TOOLS)/unit.sh $(patsubst $(B)/%,build/plain/%,$(UNIT))
check-asan:
	$(SUB) -s -j$(JOBS) FLAVOUR=asan WERROR=-Werror unit build/asan/kprof-top
	@sh $(TOOLS)/unit.sh $(patsubst $(B)/%,build/asan/%,$(UNIT))
	@KPROF_TOP=$(CURDIR)/build/asan/kprof-top python3 tests/lib/runner.py tests/node $(UNDER_SANITIZER)
	@KPROF_TOP=$(CURDIR)/build/asan/kprof-top python3 tests/lib/runner.py tests/screen test_suggest:test_keys_right_after_a_choice
# A data race needs two threads: of the unit tests, those that can start one.
check-tsan:
	$(SUB) -s -j$(JOBS) WERROR=-Werror unit
	@programs=$$(sh $(TOOLS)/threaded.sh $(patsubst $(B)/%,build/plain/%,$(UNIT)) | sed 's|^|build/tsan/unit/|') && \
	    $(MAKE) --no-print-directory -s -j$(JOBS) FLAVOUR=tsan WERROR=-Werror $$programs build/tsan/kprof-top && \
	    sh $(TOOLS)/unit.sh $$programs
	@KPROF_TOP=$(CURDIR)/build/tsan/kprof-top python3 tests/lib/runner.py tests/node $(UNDER_SANITIZER)

# While editing: make quick, and single tests, such as T=unit/test_hist, T=node/test_counts:test_recursion.
# UPDATE_GOLDENS=1 writes tests/golden instead of comparing with it.
T    ?=
KIND := $(firstword $(subst /, ,$(T)))
NAME := $(if $(findstring /,$(T)),$(notdir $(T)))
.PHONY: test quick check-smoke
test: export KPROF_TOP = $(CURDIR)/$(B)/kprof-top
test:
	@case '$(KIND)' in unit|node|screen|agent) ;; \
	    *) echo 'Which test? make test T=unit/test_hist, T=node/test_counts, T=screen/test_keys or T=agent/NAME (a part of it is enough)' >&2; exit 2 ;; esac
ifeq ($(KIND),unit)
	$(SUB) -s -j$(JOBS) $(if $(NAME),$(B)/unit/$(NAME),unit)
	@sh $(TOOLS)/unit.sh $(if $(NAME),$(B)/unit/$(NAME),$(UNIT))
else
	$(SUB) -s -j$(JOBS) $(B)/kprof-top all $(if $(filter screen node,$(KIND)),static)
	$(if $(filter node agent,$(KIND)),@sh $(TOOLS)/otp-roots.sh)
	@python3 $(if $(filter agent,$(KIND)),$(TOOLS)/agent.py --show,tests/lib/runner.py tests/$(KIND)) $(if $(NAME),'$(NAME)')
endif
quick:
	$(SUB) -s -j$(JOBS) WERROR=-Werror unit all
	@MAKE='$(MAKE)' python3 $(TOOLS)/check.py -- unit -- includes format smoke
check-smoke:
	$(SUB) -s -j$(JOBS) all
	@python3 tests/lib/runner.py tests/node 'test_exact_counts(25, lean'

.PHONY: check-includes check-format check-man check-docs check-dialyzer
check-includes:
	@python3 $(TOOLS)/includes.py --self-test
	@python3 $(TOOLS)/includes.py
	@python3 $(TOOLS)/style.py --self-test
	$(SUB) -s -j$(JOBS) all
	@python3 $(TOOLS)/style.py
# The dependency graph: layers with their units, from the top down.
.PHONY: map
map:
	$(SUB) -s -j$(JOBS) all
	@python3 $(TOOLS)/style.py --draw
check-format:
	@sh $(TOOLS)/format.sh
check-man:
	$(SUB) -s -j$(JOBS) all
	@sh $(TOOLS)/man.sh
check-docs: build/plain/keydocs
	@python3 $(TOOLS)/docs.py $< --check
check-dialyzer:
	@sh $(TOOLS)/dialyzer.sh

.PHONY: check-agent check-node check-screen check-chaos check-survive check-real check-fuzz
check-agent:
	$(SUB) -s -j$(JOBS) all
	@sh $(TOOLS)/otp-roots.sh
	@python3 $(TOOLS)/agent.py $(ONLY)
check-node:
	$(SUB) -s -j$(JOBS) all static
	@sh $(TOOLS)/otp-roots.sh
	@python3 tests/lib/runner.py tests/node $(ONLY)
check-screen:
	$(SUB) -s -j$(JOBS) all static
	@python3 tests/lib/runner.py tests/screen $(ONLY)
# A few rounds of make chaos, always the same.
check-chaos:
	$(SUB) -s -j$(JOBS) all
	@sh $(TOOLS)/otp-roots.sh
	@python3 tests/chaos/chaos.py --rounds 4 --seed 8 --stop 2
# Seven rounds on each OTP, always the same: with this seed most ways to use kprof-top occur.
check-survive:
	$(SUB) -s -j$(JOBS) all
	@sh $(TOOLS)/otp-roots.sh
	@python3 tests/chaos/survive.py --rounds 7 --seed 43
# yaws and RabbitMQ on the OTP of this machine; skipped if their packages cannot be installed.
check-real:
	$(SUB) -s -j$(JOBS) all
	@python3 tests/real/real.py --short
check-fuzz:
	@sh $(TOOLS)/deps.sh build fuzz
	$(SUB) -s -j$(JOBS) FLAVOUR=fuzz fuzz-programs
	@sh $(TOOLS)/fuzz.sh $(patsubst $(B)/%,build/fuzz/%,$(FUZZ))

.PHONY: bench
bench:
	@sh $(TOOLS)/deps.sh build check
	$(SUB) -s -j$(JOBS) all bench-programs
	@sh $(TOOLS)/bench.sh $(patsubst $(B)/%,build/plain/%,$(BENCH))

.PHONY: docs
docs: build/plain/keydocs
	@python3 $(TOOLS)/docs.py $<

# Long runs, for an idle machine. chaos prints its seed; SEED= repeats a run.
ROUNDS  ?= $(if $(filter survive,$(GOALS)),100,200)
ATTACHES ?= 50
MINUTES ?= 30
RATE    ?= 20000
PROCESSES ?= 200000
.PHONY: chaos overload soak large survive survive-rabbitmq real impact
chaos:
	$(SUB) -s -j$(JOBS) all
	@sh $(TOOLS)/otp-roots.sh
	@python3 tests/chaos/chaos.py --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED)) $(if $(OTP),--otp "$(OTP)")
overload:
	$(SUB) -s -j$(JOBS) all
	@python3 tests/chaos/overload.py $(if $(OTP),--otp $(OTP))
survive:
	$(SUB) -s -j$(JOBS) all
	@sh $(TOOLS)/otp-roots.sh
	@python3 tests/chaos/survive.py --rounds $(ROUNDS) --results tests/RESULTS.md $(if $(SEED),--seed $(SEED)) $(if $(OTP),--otp "$(OTP)")
survive-rabbitmq:
	$(SUB) -s -j$(JOBS) all
	@python3 tests/chaos/rabbit.py --attaches $(ATTACHES)
soak:
	$(SUB) -s -j$(JOBS) all
	@python3 tests/chaos/soak.py --minutes $(MINUTES) --rate $(RATE)
large:
	$(SUB) -s -j$(JOBS) all
	@sh $(TOOLS)/otp-roots.sh
	@python3 tests/chaos/large.py --processes $(PROCESSES) $(if $(OTP),--otp "$(OTP)") $(if $(RUNS),--runs $(RUNS)) --write
# About five minutes for each server and OTP.
real:
	$(SUB) -s -j$(JOBS) all
	@python3 tests/real/real.py $(if $(SERVER),--server "$(SERVER)") $(if $(OTP),--otp "$(OTP)") $(if $(TURNS),--turns $(TURNS)) $(if $(WRITE),--write $(WRITE)) $(ARGS)
# All parts take more than half an hour for each OTP.
impact:
	$(SUB) -s -j$(JOBS) all
	$(if $(filter-out 25,$(OTP)),@sh $(TOOLS)/otp-roots.sh)
	@python3 tests/bench/impact.py $(PART) $(if $(OTP),--otp "$(OTP)") $(if $(WRITE),--write $(WRITE)) $(ARGS)

.PHONY: screenshots format
screenshots:
	$(SUB) -s -j$(JOBS) all
	@python3 $(TOOLS)/screenshots.py screenshots
format:
	clang-format -i $$(find src include tests -name '*.[ch]')

.PHONY: install uninstall
install: build/kprof-top
	install -d "$(DESTDIR)$(BINDIR)" "$(DESTDIR)$(MANDIR)"
	install -m 755 build/kprof-top "$(DESTDIR)$(BINDIR)/kprof-top"
	install -m 644 kprof.1 "$(DESTDIR)$(MANDIR)/kprof.1"
	ln -sf kprof.1 "$(DESTDIR)$(MANDIR)/kprof-top.1"
	install -d "$(DESTDIR)$(BASHDIR)" "$(DESTDIR)$(ZSHDIR)"
	install -m 644 src/cli/complete.bash "$(DESTDIR)$(BASHDIR)/kprof-top"
	install -m 644 src/cli/complete.zsh "$(DESTDIR)$(ZSHDIR)/_kprof-top"
uninstall:
	rm -f "$(DESTDIR)$(BINDIR)/kprof-top" "$(DESTDIR)$(MANDIR)/kprof.1" "$(DESTDIR)$(MANDIR)/kprof-top.1" \
	    "$(DESTDIR)$(BASHDIR)/kprof-top" "$(DESTDIR)$(ZSHDIR)/_kprof-top"

.PHONY: clean distclean
clean:
	@if [ -d build ]; then find build -mindepth 1 -maxdepth 1 ! -name otp ! -name real -exec rm -rf {} +; rmdir build 2>/dev/null || :; fi
distclean:
	rm -rf build
