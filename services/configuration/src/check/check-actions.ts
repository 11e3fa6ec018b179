import { nativeServers } from '@parley/shared/native-request'
import type { ResourceDocument } from '../store/stored-document.ts'
import type { Batch, Finding } from './finding.ts'

/** Specs that are no OpenAPI 3 document in YAML, and modules that nothing can call. */
export async function checkActions(batch: Batch): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const action of batch.documents)
    findings.push(
      ...moduleFindings(action),
      ...serverFindings(action),
      ...toolFindings(action),
      ...(await specFindings(action, batch)),
    )
  return findings
}

const MCP = 'mcp'

function moduleFindings({ _id, specType, moduleUrl }: ResourceDocument): Finding[] {
  const isUrl = /^https?:/.test(String(moduleUrl))
  if (specType === MCP && !isUrl) {
    const message = 'the module of an MCP server is its http(s) URL'
    return [{ code: 'bad_handler', resource: 'actions', _id, path: '/moduleUrl', message }]
  }
  const native = nativeServers(String(moduleUrl))
  const isBased = native?.base === undefined || /^https?:/.test(native.base)
  if (isUrl || (native !== undefined && isBased)) return []
  const message = isBased
    ? 'a module is native:request or an http(s) URL'
    : 'the server of native:request is an http(s) URL'
  return [{ code: 'bad_handler', resource: 'actions', _id, path: '/moduleUrl', message }]
}

/** A server that gave no tools when it was last asked. */
function serverFindings({ _id, failing }: ResourceDocument): Finding[] {
  const { reason } = (failing ?? {}) as { reason?: string }
  if (reason === undefined) return []
  return [{ code: 'failing_server', resource: 'actions', _id, path: '/moduleUrl', message: reason }]
}

/** Returns findings about tools of its spec or server that could not be used at the last read. */
function toolFindings({ _id, specType, missing }: ResourceDocument): Finding[] {
  const { reasons = [] } = (missing ?? {}) as { reasons?: string[] }
  const at = { resource: 'actions', _id, path: specType === MCP ? '/moduleUrl' : '/spec' } as const
  return reasons.map((message) => ({ ...at, code: 'missing_tool', message }))
}

async function specFindings(
  { _id, specType, spec }: ResourceDocument,
  { workspace, versions, specs, until }: Batch,
): Promise<Finding[]> {
  const at = { resource: 'actions', _id } as const
  // The server says itself what it offers.
  if (specType === MCP) return []
  if (specType !== 'openapi3-yaml') {
    return [
      { ...at, code: 'bad_spec', path: '/specType', message: 'only openapi3-yaml and mcp are understood' },
    ]
  }
  const version = versions.get(_id) ?? 0
  const check = await specs.check({ workspace, _id, version, spec: String(spec) }, until)
  if (check.kind === 'fine') return []
  if (check.kind === 'bad') return [{ ...at, code: 'bad_spec', path: '/spec', message: check.message }]
  return [{ ...at, code: 'not_checked', path: '/spec', message: UNCHECKED[check.kind] }]
}

const UNCHECKED = {
  too_slow: 'it takes too long, or too much memory, to read',
  not_checked: 'there was no time left; a further check goes on with it',
}
