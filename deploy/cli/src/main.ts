import { CommanderError } from 'commander'
import { reportFailure } from './failure.ts'
import { buildProgram } from './program.ts'

process.on('SIGINT', () => process.exit(130))
// Whoever reads the output may stop, as `head` does.
process.stdout.on('error', () => process.exit(0))

try {
  await buildProgram().parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
  else process.exitCode = reportFailure(error, { json: process.argv.includes('--json') })
}
