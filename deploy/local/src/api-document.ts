import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CHECKOUT } from './checkout.ts'
import { runCommand } from './processes/run-command.ts'

const DOCUMENT = join(CHECKOUT, 'docs/openapi.json')
/** Sources of the API's description. */
const SOURCES = [
  'package.json',
  '{gateway,shared,services/*}/src/**/*.ts',
  'docs/permission-operations.ts',
  'docs/openapi/*.ts',
]
const WRITE_MS = 60_000

/**
 * Has the OpenAPI document that the gateway serves made from the code, unless it is newer than all of that. `owner` is the
 * folder whose processes the command counts among.
 */
export async function makeApiDocument({
  owner,
  signal,
}: {
  owner: string
  signal?: AbortSignal | undefined
}): Promise<void> {
  const madeAt = statSync(DOCUMENT, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY
  const sources = globSync(SOURCES, { cwd: CHECKOUT })
  if (sources.every((file) => statSync(join(CHECKOUT, file)).mtimeMs < madeAt)) return
  await runCommand({
    command: process.execPath,
    args: ['docs/openapi/write-document.ts'],
    owner,
    cwd: CHECKOUT,
    timeoutMs: WRITE_MS,
    signal,
  })
}
