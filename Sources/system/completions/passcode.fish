# fish completion for passcode(1)

complete -c passcode -f

complete -c passcode -n __fish_use_subcommand -a enroll -d 'set a passcode'
complete -c passcode -n __fish_use_subcommand -a change -d 'ask for the old passcode, then set a new one'
complete -c passcode -n __fish_use_subcommand -a remove -d 'remove the passcode'
complete -c passcode -n __fish_use_subcommand -a unlock -d 'end a lock after too many failures'
complete -c passcode -n __fish_use_subcommand -a disable -d 'disable a passcode without removing it'
complete -c passcode -n __fish_use_subcommand -a enable -d 'enable a disabled passcode again'
complete -c passcode -n __fish_use_subcommand -a status -d 'say whether a passcode is set, and its state'
complete -c passcode -n __fish_use_subcommand -a list -d 'the state of every enrolled user'
complete -c passcode -n __fish_use_subcommand -a verify -d 'one attempt, counted like any other'
complete -c passcode -n __fish_use_subcommand -a key -d 'make the machine key, or check it'
complete -c passcode -n __fish_use_subcommand -a check-weak -d 'say which candidates are weak, and why'
complete -c passcode -n __fish_use_subcommand -a try -d 'try everything in a temporary store'

set -l people enroll change remove unlock disable enable status verify
complete -c passcode -n "__fish_seen_subcommand_from $people" -a '(__fish_complete_users)'
complete -c passcode -n '__fish_seen_subcommand_from key' -a 'init status'

complete -c passcode -l conf -r -F -d 'another configuration file'
complete -c passcode -l json -d 'one JSON object per line'
complete -c passcode -l quiet -d 'print nothing on success'
complete -c passcode -s h -l help -d help
complete -c passcode -l version -d 'the version'
complete -c passcode -n '__fish_seen_subcommand_from enroll change' -l length -x -a '4 6' -d 'how many digits'
complete -c passcode -n '__fish_seen_subcommand_from enroll change remove unlock verify' -l stdin -d 'read passcodes from standard input'
complete -c passcode -n '__fish_seen_subcommand_from enroll' -l generate -d 'choose a random one and print it'
complete -c passcode -n '__fish_seen_subcommand_from enroll' -l expires -x -a '12h 1d 7d 4w' -d 'root: after that time it opens nothing'
complete -c passcode -n '__fish_seen_subcommand_from enroll' -l must-change -d 'root: it opens one login, then only passcode change'
complete -c passcode -n '__fish_seen_subcommand_from enroll' -l force -d 'root: even if the password is digits'
complete -c passcode -n '__fish_seen_subcommand_from change' -l force -d 'root: without the old one'
complete -c passcode -n '__fish_seen_subcommand_from try' -l demo -d 'run a scripted session'
