import { CommanderError } from 'commander'
import { EXIT, reportFailure, unwritable } from './failure.ts'
import { buildProgram } from './program.ts'

const json = process.argv.includes('--json')
process.on('SIGINT', () => process.exit(EXIT.interrupted))
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever reads the output may stop, as `head` does.
  if (error.code === 'EPIPE') process.exit(0)
  process.exit(reportFailure(unwritable('The output', error), { json }))
})

try {
  await buildProgram().parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
  else process.exitCode = reportFailure(error, { json })
}
