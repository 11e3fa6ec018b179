import { boundSecretOf } from '@parley/shared/providers/bound-secret'
import { originsOfCredentials } from '../credentials/credential-origins.ts'
import { isCredentials } from '../credentials/model-origins.ts'
import type { ResourceDocument } from '../store/stored-document.ts'
import type { Batch, Finding } from './finding.ts'

const MAX_NAMED = 5

/** Channels whose secret stays behind, because its address leads elsewhere than it did when the secret was stored. */
export function checkTokens({ documents }: Pick<Batch, 'documents'>): Finding[] {
  return documents.flatMap((channel) => {
    const secret = boundSecretOf(channel)
    return secret === undefined
      ? []
      : withheldFinding(channel, 'channels', `/config/${secret.key}`, undefined)
  })
}

/** Credentials that stay behind, because an address that uses them leads elsewhere than it did when they were stored. */
export async function checkCredentials(batch: Batch): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const config of batch.documents) {
    if (config.origins === undefined || !isCredentials(config.name)) continue
    const { _id, name, owner, ownerType } = config
    const credentials = { _id, name: String(name), owner, ownerType }
    const now = await originsOfCredentials(batch, batch.workspace, credentials)
    const others = now?.filter((origin) => !(config.origins as string[]).includes(origin))
    if (others !== undefined && others.length > 0)
      findings.push(...withheldFinding(config, 'configs', '/value', others))
  }
  return findings
}

function withheldFinding(
  { _id, origins }: ResourceDocument,
  resource: Finding['resource'],
  path: string,
  others: readonly string[] | undefined,
): Finding[] {
  if (origins === undefined) return []
  const known = named(origins as string[]) || 'no address'
  const to = others === undefined ? 'its present apiUrl' : named(others)
  const message = `was stored for ${known}, so it is not sent to ${to}; store it again if it is to go there`
  return [{ code: 'credentials_withheld', resource, _id, path, message }]
}

const named = (origins: readonly string[]): string => origins.slice(0, MAX_NAMED).join(', ')
