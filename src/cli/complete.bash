# Completion of kprof-top for bash. Installed by make install; the options come from the program itself.
_kprof_top() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local config=${XDG_CONFIG_HOME:-$HOME/.config}/kprof-top
    COMPREPLY=()
    case $prev in
    -f | --config)
        mapfile -t COMPREPLY < <(
            compgen -f -- "$cur"
            [ -d "$config" ] && cd "$config" && compgen -G "$cur*.config" | sed 's/\.config$//'
        )
        return
        ;;
    -o | --output | --record | --replay | --flame | --baseline | --cookie-file | --slow-log | --tls-optfile | --tls-ca | --tls-cert | --tls-key)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --format)
        mapfile -t COMPREPLY < <(compgen -W "text json csv prom hlog" -- "$cur")
        return
        ;;
    --returns)
        mapfile -t COMPREPLY < <(compgen -W "lean full auto" -- "$cur")
        return
        ;;
    --profile)
        mapfile -t COMPREPLY < <(compgen -W "cpu wall reductions memory message_queue_len bin_vheap_size minor_gcs" -- "$cur")
        return
        ;;
    --full-hide)
        mapfile -t COMPREPLY < <(compgen -W "sleep gc sleep,gc" -- "$cur")
        return
        ;;
    --processes)
        mapfile -t COMPREPLY < <(compgen -W "top:100 top:100:memory top:100:queue top:100:binary app: children: inside all" -- "$cur")
        return
        ;;
    --statuses)
        mapfile -t COMPREPLY < <(compgen -W "running runnable waiting garbage_collecting suspended exiting all" -- "$cur")
        return
        ;;
    --perf-pid)
        mapfile -t COMPREPLY < <(compgen -W "pid integer" -- "$cur")
        return
        ;;
    --demo-trouble)
        mapfile -t COMPREPLY < <(compgen -W "queue gc dirty runq lock" -- "$cur")
        return
        ;;
    --transport)
        mapfile -t COMPREPLY < <(compgen -W "dist auto" -- "$cur")
        return
        ;;
    esac
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" --help 2>/dev/null | grep -o -- '--[a-z][a-z-]*' | sort -u)" -- "$cur")
    else
        # Nodes of this machine, and those used last: kprof-top prints them if it has no terminal. For bash, "@" and ":"
        # separate words: it replaces only what follows the last of them, and the "@" itself if it completes host names.
        local line=${COMP_LINE:0:${COMP_POINT:-0}} ends=${COMP_WORDBREAKS//[^@:]/}
        local word=${line##* }
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" </dev/null 2>/dev/null | sed 's/ .*//')" -- "${word:-$cur}")
        if [[ $word && $ends ]]; then
            local kept=${word##*["$ends"]}
            [[ ${word%"$kept"} == *@ ]] && shopt -q hostcomplete && kept=@$kept
            COMPREPLY=("${COMPREPLY[@]#"${word%"$kept"}"}")
        fi
    fi
}
complete -F _kprof_top kprof-top
