"""make install: the program, the manual page and the shell completions; make uninstall removes all of them."""
import os
import re
import shutil
import subprocess

import kp


def complete(program_dir, words, env):
    """The completions of bash for the last word."""
    script = os.path.join(program_dir, "..", "share", "bash-completion", "completions", "kprof-top")
    code = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kprof_top; printf "%s\\n" "${COMPREPLY[@]}"')
    run = subprocess.run(["bash", "-c", code, "bash", script] + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         env=env, timeout=60)
    return run.stdout.split()


def test_install_completions_uninstall():
    root = os.path.join(kp.scratch(), "install")
    config = os.path.join(root, "xdg", "kprof-top")
    os.makedirs(config)
    open(os.path.join(config, "night.config"), "w").close()
    with open(os.path.join(config, "nodes"), "w") as f:
        f.write("1700000000 used@far.example\n1600000000 six@[fd00::2]:9100\n")
    env = dict(os.environ, XDG_CONFIG_HOME=os.path.join(root, "xdg"), XDG_STATE_HOME=os.path.join(root, "xdg"))
    for k in ("MAKEFLAGS", "MAKELEVEL"):
        env.pop(k, None)
    subprocess.run(["make", "-s", "install", "PREFIX=" + root], check=True, cwd=kp.ROOT, env=env, timeout=300)
    program = os.path.join(root, "bin", "kprof-top")
    assert subprocess.run([program, "--version"], stdout=subprocess.PIPE).returncode == 0
    if shutil.which("bash"):
        offered = complete(os.path.dirname(program), [program, "--ma"], env)
        assert "--max-age" in offered and "--max-rate" in offered and len(offered) < 10, offered
        assert complete(os.path.dirname(program), [program, "--format", "h"], env) == ["hlog"]
        assert "night" in complete(os.path.dirname(program), [program, "-f", "ni"], env)
        assert complete(os.path.dirname(program), [program, "use"], env) == ["used@far.example"]
        with kp.Tmux(100, 10, command=["bash", "--norc", "--noprofile", "-i"], env={"XDG_STATE_HOME": env["XDG_STATE_HOME"],
                                                                                  "PATH": os.path.dirname(program) + ":" + os.environ["PATH"]}) as t:
            t.wait_for("sh>")
            t.keys("source %s; echo read" % os.path.join(root, "share", "bash-completion", "completions", "kprof-top"), "Enter")
            t.wait_for(re.compile("^read", re.M))
            for typed, whole in (("used", "used@far.example"), ("used@f", "used@far.example"), ("six@[fd00::", "six@[fd00::2]:9100")):
                t.keys("kprof-top -b " + typed, "Tab")
                t.wait_for(re.compile(r"^sh> kprof-top -b %s *$" % re.escape(whole), re.M))
                t.keys("C-u")
    if shutil.which("zsh"):
        page = os.path.join(root, "share", "zsh", "site-functions", "_kprof-top")
        subprocess.run(["zsh", "-n", page], check=True)
    subprocess.run(["make", "-s", "uninstall", "PREFIX=" + root], check=True, cwd=kp.ROOT, env=env, timeout=60)
    left = [f for _, _, files in os.walk(root) for f in files if f not in ("night.config", "nodes")]
    assert left == [], left
