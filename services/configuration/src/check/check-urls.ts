import { pointerSegment } from '@parley/shared/json-pointer'
import { mapSecrets } from '@parley/shared/map-secrets'
import { mapYielding } from '@parley/shared/map-yielding'
import { MASK } from '@parley/shared/secret-keys'
import { looksLikeKey, SEALED_PREFIX } from '@parley/shared/secret-urls'
import type { ResourceDocument } from '../store/stored-document.ts'
import type { Batch, Finding } from './finding.ts'

const MAX_PER_DOCUMENT = 100

/** URLs with user information, and URLs whose query looks like a key. What they are is not shown. */
export async function checkUrls({ definition, documents, opened }: Batch): Promise<Finding[]> {
  const ofEach = await mapYielding(documents, (doc) => findingsOf(definition.name, opened(doc)))
  return ofEach.flatMap((findings) => findings.slice(0, MAX_PER_DOCUMENT))
}

function findingsOf(resource: Finding['resource'], doc: ResourceDocument): Finding[] {
  const findings: Finding[] = []
  mapSecrets(doc, (secret, { path, part }) => {
    const text = String(secret)
    const isKnown = text !== MASK && !text.startsWith(SEALED_PREFIX)
    if (part === undefined || !isKnown || (part.kind === 'query' && !looksLikeKey(text))) return secret
    const at = path.map((key) => `/${pointerSegment(key)}`).join('')
    findings.push({ ...FINDINGS[part.kind], resource, _id: doc._id, path: at })
    return secret
  })
  return findings
}

const INSTEAD =
  'an action has its key in a config named credentials (headers for an MCP server); what is posted to handlers and receivers is signed, which they can check'
const FINDINGS = {
  user: { code: 'user_information', message: `the URL has user information; ${INSTEAD}` },
  query: { code: 'key_in_url', message: `the query of the URL looks like a key; ${INSTEAD}` },
} as const satisfies Record<string, Pick<Finding, 'code' | 'message'>>
