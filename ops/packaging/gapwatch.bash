# Completions of gapwatch for bash: commands and their options, as `gapwatch help` lists them.

_gapwatch() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]:-} words
  if ((COMP_CWORD == 1)); then
    words=$(gapwatch help 2>/dev/null | sed -n '/^subcommands:/I,$ s/^  \([a-z]\{1,\}\) .*/\1/p')
  elif [[ $word == -* ]]; then
    words=$(gapwatch help "$command" 2>/dev/null | grep -oE -- '--[a-z][a-z-]*')
  elif [[ $command == help ]]; then
    words="config $(gapwatch help 2>/dev/null | sed -n '/^subcommands:/I,$ s/^  \([a-z]\{1,\}\) .*/\1/p')"
  elif [[ $command == state && $COMP_CWORD == 2 ]]; then
    words="inspect export verify"
  else
    return 1  # files
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _gapwatch gapwatch
