import { setImmediate as letOthersRun } from 'node:timers/promises'
import { load } from 'js-yaml'
import type { ResourceDocument } from '../store/stored-document.ts'
import type { Batch, Finding } from './finding.ts'

const MAX_SPEC_CHARACTERS = 512 * 1024

/** Specs that are no OpenAPI 3 document in YAML, and modules that nothing can call. */
export async function checkActions({ documents }: Batch): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const action of documents) {
    await letOthersRun()
    findings.push(...moduleFindings(action), ...specFindings(action))
  }
  return findings
}

const MCP = 'mcp'

function moduleFindings({ _id, specType, moduleUrl }: ResourceDocument): Finding[] {
  const isUrl = /^https?:/.test(String(moduleUrl))
  if (specType === MCP && !isUrl) {
    const message = 'the module of an MCP server is its http(s) URL'
    return [{ code: 'bad_handler', resource: 'actions', _id, path: '/moduleUrl', message }]
  }
  if (isUrl || moduleUrl === 'native:request') return []
  const message = 'a module is native:request or an http(s) URL'
  return [{ code: 'bad_handler', resource: 'actions', _id, path: '/moduleUrl', message }]
}

function specFindings({ _id, specType, spec }: ResourceDocument): Finding[] {
  const at = { resource: 'actions', _id } as const
  // The server says itself what it offers.
  if (specType === MCP) return []
  if (specType !== 'openapi3-yaml') {
    return [
      { ...at, code: 'bad_spec', path: '/specType', message: 'only openapi3-yaml and mcp are understood' },
    ]
  }
  if (String(spec).length > MAX_SPEC_CHARACTERS) {
    const message = `only specs up to ${MAX_SPEC_CHARACTERS} characters are checked`
    return [{ ...at, code: 'not_checked', path: '/spec', message }]
  }
  const message = errorInSpec(String(spec))
  return message === undefined ? [] : [{ ...at, code: 'bad_spec', path: '/spec', message }]
}

function errorInSpec(text: string): string | undefined {
  let spec: unknown
  try {
    spec = load(text)
  } catch (error) {
    return error instanceof Error ? error.message.split('\n', 1)[0] : 'is no YAML'
  }
  if (typeof spec !== 'object' || spec === null) return 'is no YAML mapping'
  const { openapi, paths } = spec as { openapi?: unknown; paths?: unknown }
  if (!/^3(\.|$)/.test(String(openapi))) return 'names no OpenAPI 3 version under openapi'
  if (typeof paths !== 'object' || paths === null) return 'has no paths'
  return undefined
}
