import { Command, CommanderError } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { addCampaigns } from './commands/campaigns.ts'
import { addChat } from './commands/chat.ts'
import { addCheck } from './commands/check.ts'
import { addCompletion } from './commands/completion.ts'
import { addDoctor } from './commands/doctor.ts'
import { addListen } from './commands/listen.ts'
import { addLogin, addLogout } from './commands/login.ts'
import { addPeople, addSegments } from './commands/people.ts'
import { addReplay } from './commands/replay.ts'
import { addSend } from './commands/send.ts'
import { addSpec } from './commands/spec.ts'
import { addTail } from './commands/tail.ts'
import { addTemplates } from './commands/templates.ts'
import { addExport, addImport } from './commands/transfer.ts'
import { addTrigger } from './commands/trigger.ts'
import { addWhy } from './commands/why.ts'
import { EXIT, EXIT_MEANINGS, Failure, reportFailure, unwritable } from './failure.ts'

const json = process.argv.includes('--json')
process.on('SIGINT', () => process.exit(EXIT.interrupted))
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever reads the output may stop, as `head` does.
  if (error.code === 'EPIPE') process.exit(0)
  process.exit(reportFailure(unwritable('The output', error), { json }))
})

try {
  const program = buildProgram({ json })
  if (process.argv.length > 2) await program.parseAsync()
  else program.outputHelp()
} catch (error) {
  process.exitCode = error instanceof CommanderError ? endOfArguments(error) : reportFailure(error, { json })
}

/** Help was asked for, or an argument is wrong: without `--json` that has been said. */
function endOfArguments({ message, exitCode }: CommanderError): number {
  if (exitCode === 0) return EXIT.fine
  if (!json) return EXIT.usage
  return reportFailure(new Failure(message.replace(/^error: /, ''), EXIT.usage), { json })
}

/**
 * All commands. Each takes `--json`; a wrong argument throws a CommanderError, after it was said what is right where the
 * output is not JSON.
 */
function buildProgram({ json }: { json: boolean }): Command {
  const program = new Command('parley')
    .description('Parley from a terminal: sends messages, and says what became of them')
    .version(manifest.version, '--version', 'say which version this is')
    .exitOverride()
    .configureOutput(json ? { writeErr: () => undefined } : {})
    .showSuggestionAfterError()
    .addHelpText(
      'after',
      `\nExit codes:\n${exitCodes()}\n\nPARLEY_URL and PARLEY_TOKEN go before what parley login stored.`,
    )
  const adders = [
    ...[addLogin, addLogout, addSend, addTail, addWhy, addReplay],
    ...[addListen, addTrigger, addChat],
    ...[addPeople, addSegments, addTemplates, addCampaigns],
    ...[addExport, addImport, addSpec, addCheck, addDoctor, addCompletion],
  ]
  for (const add of adders) add(program)
  for (const command of program.commands) completeCommand(command, command.name())
  return program
}

/** Gives every command its `--json` option and the hint that follows wrong arguments. */
function completeCommand(command: Command, name: string): void {
  for (const one of command.commands) completeCommand(one, `${name} ${one.name()}`)
  if (command.commands.length === 0) command.option('--json', 'write JSON, one value a line')
  command.showHelpAfterError(`(parley ${name} --help shows all of it)`)
}

function exitCodes(): string {
  return EXIT_MEANINGS.map(
    ([code, meaning]) => `  ${String(code).padStart(3)}  ${meaning.replaceAll('`', '')}`,
  ).join('\n')
}
