#compdef kprof-top
# Completion of kprof-top for zsh. Installed by make install; the options come from the program itself.
_kprof_top_profiles() {
    local dir=${XDG_CONFIG_HOME:-$HOME/.config}/kprof-top
    local -a names
    names=($dir/*.config(N:t:r))
    _alternative 'profiles:profile:($names)' 'files:config file:_files'
}
_kprof_top() {
    local cur=${words[CURRENT]} prev=${words[CURRENT-1]}
    case $prev in
    -f|--config) _kprof_top_profiles; return ;;
    -o|--output|--record|--replay|--flame|--baseline|--cookie-file|--slow-log|--tls-optfile|--tls-ca|--tls-cert|--tls-key) _files; return ;;
    --format) compadd text json csv prom hlog; return ;;
    --returns) compadd lean full auto; return ;;
    --profile) compadd cpu wall reductions memory message_queue_len bin_vheap_size minor_gcs; return ;;
    --full-hide) compadd sleep gc sleep,gc; return ;;
    --processes) compadd top:100 top:100:memory top:100:queue top:100:binary app: children: inside all; return ;;
    --statuses) compadd running runnable waiting garbage_collecting suspended exiting all; return ;;
    --perf-pid) compadd pid integer; return ;;
    --demo-trouble) compadd queue gc dirty runq lock; return ;;
    --transport) compadd dist auto; return ;;
    esac
    if [[ $cur == -* ]]; then
        compadd -- ${(fu)"$(${words[1]} --help 2>/dev/null | grep -o -- '--[a-z][a-z-]*')"}
    else
        # Nodes of this machine, and those used last: kprof-top prints them if it has no terminal.
        compadd -- ${(f)"$(${words[1]} </dev/null 2>/dev/null | sed 's/ .*//')"}
    fi
}
_kprof_top "$@"
