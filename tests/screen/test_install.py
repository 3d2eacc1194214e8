"""make install: the program, the manual page and the shell completions; make uninstall removes all of them."""
import os
import re
import shutil
import subprocess

import kp

BASH, ZSH = "share/bash-completion/completions/kprof-top", "share/zsh/site-functions/_kprof-top"


def complete(program_dir, words, env):
    """The completions of bash for the last word."""
    script = os.path.join(program_dir, "..", BASH)
    code = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kprof_top; printf "%s\\n" "${COMPREPLY[@]}"')
    run = subprocess.run(["bash", "-c", code, "bash", script] + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         env=env, timeout=60)
    return run.stdout.split()


def installed(root):
    """Installs below root; the environment for make, in which kprof-top finds a profile and two nodes."""
    config = os.path.join(root, "xdg", "kprof-top")
    os.makedirs(config)
    open(os.path.join(config, "night.config"), "w").close()
    with open(os.path.join(config, "nodes"), "w") as f:
        f.write("1700000000 used@far.example\n1600000000 six@[fd00::2]:9100\n")
    env = dict(os.environ, XDG_CONFIG_HOME=os.path.join(root, "xdg"), XDG_STATE_HOME=os.path.join(root, "xdg"))
    for k in ("MAKEFLAGS", "MAKELEVEL"):
        env.pop(k, None)
    subprocess.run(["make", "-s", "install", "PREFIX=" + root], check=True, cwd=kp.ROOT, env=env, timeout=300)
    return env


def files(root):
    return {os.path.relpath(os.path.join(d, f), root) for d, _, fs in os.walk(root) for f in fs} - {"xdg/kprof-top/night.config", "xdg/kprof-top/nodes"}


def test_install_uninstall():
    root = os.path.join(kp.scratch(), "install")
    env = installed(root)
    assert files(root) == {"bin/kprof-top", "share/man/man1/kprof.1", "share/man/man1/kprof-top.1", BASH, ZSH}, files(root)
    assert subprocess.run([os.path.join(root, "bin", "kprof-top"), "--version"], stdout=subprocess.PIPE).returncode == 0
    subprocess.run(["make", "-s", "uninstall", "PREFIX=" + root], check=True, cwd=kp.ROOT, env=env, timeout=60)
    assert files(root) == set(), files(root)


def test_completion_of_bash():
    if not shutil.which("bash"):
        raise kp.Skip("no bash here")
    root = os.path.join(kp.scratch(), "bash")
    env = installed(root)
    program = os.path.join(root, "bin", "kprof-top")
    offered = complete(os.path.dirname(program), [program, "--ma"], env)
    assert "--max-age" in offered and "--max-rate" in offered and len(offered) < 10, offered
    assert complete(os.path.dirname(program), [program, "--format", "h"], env) == ["hlog"]
    assert "night" in complete(os.path.dirname(program), [program, "-f", "ni"], env)
    assert complete(os.path.dirname(program), [program, "use"], env) == ["used@far.example"]
    with kp.Tmux(100, 10, command=["bash", "--norc", "--noprofile", "-i"], env={"XDG_STATE_HOME": env["XDG_STATE_HOME"],
                                                                              "PATH": os.path.dirname(program) + ":" + os.environ["PATH"]}) as t:
        t.wait_for("sh>")
        t.keys("source %s; echo read" % os.path.join(root, BASH), "Enter")
        t.wait_for(re.compile("^read", re.M))
        for typed, whole in (("used", "used@far.example"), ("used@f", "used@far.example"), ("six@[fd00::", "six@[fd00::2]:9100")):
            t.keys("kprof-top -b " + typed, "Tab")
            t.wait_for(re.compile(r"^sh> kprof-top -b %s *$" % re.escape(whole), re.M))
            t.keys("C-u")


def test_completion_of_zsh():
    if not shutil.which("zsh"):
        raise kp.Skip("no zsh here")
    subprocess.run(["zsh", "-n", os.path.join(kp.ROOT, "src", "cli", "complete.zsh")], check=True)
