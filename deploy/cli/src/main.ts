import { CommanderError } from 'commander'
import { EXIT, Failure, reportFailure, unwritable } from './failure.ts'
import { buildProgram } from './program.ts'

const json = process.argv.includes('--json')
process.on('SIGINT', () => process.exit(EXIT.interrupted))
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever reads the output may stop, as `head` does.
  if (error.code === 'EPIPE') process.exit(0)
  process.exit(reportFailure(unwritable('The output', error), { json }))
})

try {
  await buildProgram({ json }).parseAsync()
} catch (error) {
  process.exitCode = error instanceof CommanderError ? endOfArguments(error) : reportFailure(error, { json })
}

/** Help was asked for, or an argument is wrong: without `--json` that has been said. */
function endOfArguments({ message, exitCode }: CommanderError): number {
  if (exitCode === 0) return EXIT.fine
  if (!json) return EXIT.usage
  return reportFailure(new Failure(message.replace(/^error: /, ''), EXIT.usage), { json })
}
