# kprof-top: build, check, bench, install. `make help` lists the targets.
# Flavours (plain, asan, tsan, fuzz) live in directories of their own and never mix.

PREFIX  ?= /usr/local
DESTDIR ?=
BINDIR   = $(PREFIX)/bin
MANDIR   = $(PREFIX)/share/man/man1

CC      ?= cc
FLAVOUR ?= plain
B       := build/$(FLAVOUR)

VERSION := 0.1.0

# libei is where this machine's Erlang says it is.
ERL_EI  := $(shell erl -noinput -eval 'io:put_chars(code:lib_dir(erl_interface)), halt().' 2>/dev/null)
EI_INC  := $(if $(ERL_EI),-isystem $(ERL_EI)/include)
EI_LIB  := $(if $(ERL_EI),$(ERL_EI)/lib/libei.a)

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
OPT_plain := -O2 -g
OPT_asan  := -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
OPT_tsan  := -O1 -g -fsanitize=thread
OPT_fuzz  := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer
ifeq ($(FLAVOUR),fuzz)
CC := clang
endif

CPPFLAGS += -D_GNU_SOURCE -D_REENTRANT -DKPROF_VERSION='"$(VERSION)"' -Iinclude $(EI_INC)
CFLAGS   += -std=c11 -pthread $(WARN) $(WERROR) $(OPT_$(FLAVOUR))
LDFLAGS  += -pthread $(OPT_$(FLAVOUR))
LIBS     := $(EI_LIB) -lncursesw -ltinfo -lm

ROOMS   := base erl trace core export ui app
SRC     := $(wildcard $(addprefix src/,$(addsuffix /*.c,$(ROOMS))))
MAIN    := src/app/main.c
OBJ     := $(patsubst src/%.c,$(B)/obj/%.o,$(filter-out $(MAIN),$(SRC)))
AGENT   := $(wildcard src/agent/*.erl)
BEAMS   := $(patsubst src/agent/%.erl,build/agent/%.beam,$(AGENT))

UNIT    := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))
BENCH   := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/bench_*.c))

.PHONY: all
all: build/kprof-top

build/kprof-top: $(B)/kprof-top
	@cp $< $@

$(B)/kprof-top: $(B)/obj/app/main.o $(B)/libkprof.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/libkprof.a: $(OBJ) $(B)/obj/agent_blob.o
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The agent: Erlang, compiled here, embedded as bytes.
build/agent/%.beam: src/agent/%.erl
	@mkdir -p $(@D)
	erlc -Werror +deterministic +no_debug_info -o $(@D) $<

build/agent_blob.c: $(BEAMS) src/agent/embed.sh
	sh src/agent/embed.sh $(BEAMS) > $@.tmp && mv $@.tmp $@

$(B)/obj/agent_blob.o: build/agent_blob.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/unit/%: tests/unit/%.c $(B)/libkprof.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Itests/lib $(CFLAGS) -Wno-missing-prototypes -o $@ $< $(wildcard tests/lib/*.c) $(B)/libkprof.a $(LIBS) -lcmocka

$(B)/bench/%: tests/bench/%.c $(B)/libkprof.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-missing-prototypes -o $@ $< $(B)/libkprof.a $(LIBS)

-include $(OBJ:.o=.d) $(B)/obj/app/main.d

.PHONY: unit
unit: $(UNIT)
	@for t in $(UNIT); do echo "== $$t"; $$t || exit 1; done

.PHONY: clean
clean:
	rm -rf build
