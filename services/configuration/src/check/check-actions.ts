import { parse } from 'yaml'
import type { Batch, Finding } from './finding.ts'

const MAX_SPEC_CHARACTERS = 512 * 1024

/** Specs that are no OpenAPI 3 document in YAML, and modules that nothing can call. */
export function checkActions({ documents }: Batch): Finding[] {
  return documents.flatMap(({ _id, specType, spec, moduleUrl }) => {
    const found: Finding[] = []
    const add = (code: Finding['code'], path: string, message: string) =>
      found.push({ code, resource: 'actions', _id, path, message })
    if (!/^(native:request$|https?:)/.test(String(moduleUrl))) {
      add('bad_handler', '/moduleUrl', 'a module is native:request or an http(s) URL')
    }
    if (specType !== 'openapi3-yaml') {
      add('bad_spec', '/specType', 'only openapi3-yaml is understood')
    } else if (String(spec).length > MAX_SPEC_CHARACTERS) {
      add('not_checked', '/spec', `only specs up to ${MAX_SPEC_CHARACTERS} characters are checked`)
    } else {
      const fault = faultOfSpec(String(spec))
      if (fault !== undefined) add('bad_spec', '/spec', fault)
    }
    return found
  })
}

function faultOfSpec(text: string): string | undefined {
  let spec: unknown
  try {
    spec = parse(text, { logLevel: 'silent' })
  } catch (error) {
    return error instanceof Error ? error.message.split('\n', 1)[0] : 'is no YAML'
  }
  if (typeof spec !== 'object' || spec === null) return 'is no YAML mapping'
  const { openapi, paths } = spec as { openapi?: unknown; paths?: unknown }
  if (!/^3\.\d/.test(String(openapi))) return 'names no OpenAPI 3 version under openapi'
  if (typeof paths !== 'object' || paths === null) return 'has no paths'
  return undefined
}
