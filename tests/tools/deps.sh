#!/bin/sh
# Installs the packages that are missing to build, check or fuzz, with apt-get (with sudo unless root). Prints each
# package and its purpose; prints nothing if all are installed. deps.sh [build] [check] [fuzz]
set -u

missing= why=
need() { # package, how to check that it is installed, purpose
    if eval "$2" >/dev/null 2>&1; then
        return
    fi
    missing="$missing $1"
    why="$why
  $1: $3"
}
pkg() { # package, purpose
    need "$1" "dpkg-query -W -f '\${Status}' $1 | grep -q 'install ok installed'" "$2"
}
erl_app() { # package, application, purpose
    need "$1" "ls -d /usr/lib/erlang/lib/$2-* || erl -noinput -eval 'halt(case code:lib_dir($2) of {error, _} -> 1; _ -> 0 end).'" "$3"
}

for group in "${@:-build}"; do
    case $group in
    build)
        need gcc 'command -v cc' 'compiles it'
        need libc6-dev 'test -e /usr/include/stdio.h' 'the C library'"'"'s headers'
        need make 'command -v make' 'runs the Makefile'
        need libncurses-dev 'test -e /usr/include/ncurses.h' 'the screen'
        need zlib1g-dev 'test -e /usr/include/zlib.h' 'compressed histograms in exports (.hlog)'
        need libssl-dev 'test -e /usr/include/openssl/ssl.h' 'TLS between nodes'
        need erlang-base 'command -v erlc' 'compiles the agent that runs on the profiled node'
        erl_app erlang-dev erl_interface 'libei: how kprof-top talks to a node'
        ;;
    check)
        need libcmocka-dev 'test -e /usr/include/cmocka.h' 'unit tests'
        need python3 'command -v python3' 'drives the tests on real nodes and terminals'
        need tmux 'command -v tmux' 'screen tests'
        erl_app erlang-runtime-tools runtime_tools 'dbg, beside which kprof-top must work'
        need elixir 'command -v elixir' 'tests on an Elixir node'
        need erlang-dialyzer 'command -v dialyzer' 'checks the types of the agent'
        need mandoc 'command -v mandoc' 'checks the manual page'
        need clang-format 'command -v clang-format' 'checks the form of the code'
        need mmdebstrap 'command -v mmdebstrap' 'roots with OTP 27 and 29 for the tests'
        ;;
    fuzz)
        need clang 'command -v clang' 'libFuzzer'
        need libclang-rt-dev 'test -e "$(clang --print-resource-dir)/lib/linux/libclang_rt.fuzzer-$(uname -m).a"' 'libFuzzer'"'"'s runtime'
        ;;
    *)
        echo "deps.sh: no group \"$group\" (build, check, fuzz)" >&2
        exit 2
        ;;
    esac
done

[ -n "$missing" ] || exit 0

echo "Missing here:$why"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "This is not Debian (no apt-get): install the equivalents of these packages and try again:$missing" >&2
    exit 1
fi
sudo=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "You are not root, and there is no sudo; run as root: apt-get install$missing" >&2
        exit 1
    fi
    sudo=sudo
fi
echo "Installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    # shellcheck disable=SC2086
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >"$log" 2>&1
}
# On a new machine the package lists are missing or old.
if ! install; then
    $sudo apt-get update -q >"$log" 2>&1 || cat "$log" >&2
    if ! install; then
        cat "$log" >&2
        echo "apt-get could not install:$missing" >&2
        exit 1
    fi
fi
echo "Installed."
