import { Argument, type Command } from 'commander'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'whose').choices(SHELLS))
    .description('write a completion script: source <(parley completion bash)')
    .action((shell: (typeof SHELLS)[number]) => {
      process.stdout.write(shell === 'fish' ? fishScript(program) : bashScript(program, shell))
    })
}

interface Words {
  name: string
  description: string
  options: { flag: string; description: string; choices: readonly string[] }[]
  /** Of a group: the commands in it, whose options are its own here. */
  commands: string[]
}

/** Lists what can be typed: each command with its options. */
function wordsOf(program: Command): Words[] {
  return program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    options: optionsOf(command),
    commands: command.commands.map((one) => one.name()),
  }))
}

function optionsOf(command: Command): Words['options'] {
  const own = [command, ...command.commands].flatMap(({ options }) => options)
  const options = own.map(({ long, description, argChoices }) => ({
    flag: long ?? '',
    description,
    choices: argChoices ?? [],
  }))
  return [...new Map(options.map((option) => [option.flag, option])).values()]
}

/** Zsh reads it too, with the completion of bash. */
function bashScript(program: Command, shell: 'bash' | 'zsh'): string {
  const words = wordsOf(program)
  const commands = words.map(({ name }) => name).join(' ')
  const cases = words.map(({ name, options, commands }) => {
    const flags = options.map(({ flag }) => flag).join(' ')
    const isGroup = commands.length > 0
    const first = isGroup ? `[ "$COMP_CWORD" -eq 2 ] && words="${commands.join(' ')} --help" || ` : ''
    return `    ${name}) ${first}words="${flags} --help" ;;`
  })
  return `${shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_parley() {
  local words="${commands} --help"
  [ "$COMP_CWORD" -gt 1 ] && case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    *) words="" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _parley parley
`
}

function fishScript(program: Command): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "\\'")}'`
  const lines = wordsOf(program).flatMap(({ name, description, options, commands }) => [
    `complete -c parley -n __fish_use_subcommand -f -a ${name} -d ${quoted(description)}`,
    ...commands.map(
      (one) => `complete -c parley -n ${quoted(`__fish_seen_subcommand_from ${name}`)} -f -a ${one}`,
    ),
    ...options.map(({ flag, description, choices }) => {
      const values = choices.length === 0 ? '' : ` -x -a ${quoted(choices.join(' '))}`
      const at = quoted(`__fish_seen_subcommand_from ${name}`)
      return `complete -c parley -n ${at} -l ${flag.slice(2)} -d ${quoted(description)}${values}`
    }),
  ])
  return `${lines.join('\n')}\n`
}
