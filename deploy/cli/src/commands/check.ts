import type { Command } from 'commander'
import { EXIT } from '../failure.ts'
import { paint, printable, say, sayJson } from '../output.ts'
import { connect } from '../profile.ts'

export function addCheck(program: Command): void {
  program
    .command('check')
    .description("list what is wrong with the workspace's configuration; exits with 1 where something is")
    .action(async ({ json }: { json?: true }) => {
      let count = 0
      for await (const finding of connect().list('/rest/check')) {
        count++
        const { resource, _id, path, code, message } = finding
        if (json) sayJson(finding)
        else
          say(
            `${paint('bold', `${resource}/${_id}`)}${printable(path)} ${paint('yellow', code)} ${printable(message)}`,
          )
      }
      if (!json)
        say(
          count === 0
            ? paint('green', 'Nothing is wrong.')
            : count === 1
              ? '1 finding.'
              : `${count} findings.`,
        )
      if (count > 0) process.exitCode = EXIT.findings
    })
}
