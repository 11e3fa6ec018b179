import { Command } from 'commander'
import { addChat } from './commands/chat.ts'
import { addCheck } from './commands/check.ts'
import { addCompletion } from './commands/completion.ts'
import { addDoctor } from './commands/doctor.ts'
import { addListen } from './commands/listen.ts'
import { addLogin, addLogout } from './commands/login.ts'
import { addReplay } from './commands/replay.ts'
import { addSend } from './commands/send.ts'
import { addTail } from './commands/tail.ts'
import { addExport, addImport } from './commands/transfer.ts'
import { addWhy } from './commands/why.ts'
import { EXIT_MEANINGS } from './failure.ts'

/**
 * All commands. Each takes `--json`; a wrong argument throws a CommanderError, after it was said what is right where the
 * output is not JSON.
 */
export function buildProgram({ json }: { json: boolean }): Command {
  const program = new Command('parley')
    .description('Parley from a terminal: sends messages, and says what became of them')
    .exitOverride()
    .configureOutput(json ? { writeErr: () => undefined } : {})
    .showSuggestionAfterError()
    .addHelpText(
      'after',
      `\nExit codes:\n${exitCodes()}\n\nPARLEY_URL and PARLEY_TOKEN go before what parley login stored.`,
    )
  const adders = [
    ...[addLogin, addLogout, addSend, addTail, addWhy, addReplay],
    ...[addListen, addChat],
    ...[addExport, addImport, addCheck, addDoctor, addCompletion],
  ]
  for (const add of adders) add(program)
  for (const command of program.commands) {
    command.option('--json', 'write JSON, one value a line')
    command.showHelpAfterError(`(parley ${command.name()} --help shows all of it)`)
  }
  return program
}

function exitCodes(): string {
  return EXIT_MEANINGS.map(
    ([code, meaning]) => `  ${String(code).padStart(3)}  ${meaning.replaceAll('`', '')}`,
  ).join('\n')
}
