import { type JsonObject, jsonObject, keysOfPointer } from '@parley/shared/json-object'
import type { Command } from 'commander'
import { EXIT, Failure } from '../failure.ts'
import { readJsonFile } from '../read-json-file.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']

export function addSpec(program: Command): void {
  program
    .command('spec')
    .argument('<file>', 'an OpenAPI document in JSON, `-` for standard input')
    .argument('[operations...]', 'ids or tags of operations; all when left out')
    .description(
      'write an OpenAPI document with these operations and what calling them needs, for one that is too large',
    )
    .action(async (file: string, operations: string[]) => {
      process.stdout.write(`${JSON.stringify(cutSpec(await readSpec(file), operations))}\n`)
    })
}

async function readSpec(file: string): Promise<JsonObject> {
  const spec = jsonObject.safeParse(await readJsonFile(file))
  if (!spec.success) throw new Failure(`${file} is no JSON object.`, EXIT.usage)
  return spec.data
}

/** A document with the operations of these ids or tags, without what they answer with, and with what they refer to. */
export function cutSpec(root: JsonObject, operations: readonly string[]): JsonObject {
  const chosen = new Set(operations)
  const paths = Object.entries(objectIn(root.paths)).flatMap(([path, given]) => {
    const item = objectIn(given)
    const own = METHODS.flatMap((method) => {
      const {
        responses: _responses,
        callbacks: _callbacks,
        requestBody,
        ...operation
      } = objectIn(item[method])
      const isChosen = chosen.size === 0 || namesOf(operation).some((name) => chosen.has(name))
      return Object.hasOwn(item, method) && isChosen
        ? [[method, { ...operation, ...withoutExamples(requestBody), responses: {} }]]
        : []
    })
    const others = Object.entries(item).filter(([key]) => !METHODS.includes(key))
    return own.length === 0 ? [] : [[path, Object.fromEntries([...others, ...own])]]
  })
  const { components, webhooks: _webhooks, 'x-webhooks': _others, ...rest } = root
  const made = { ...rest, paths: Object.fromEntries(paths) }
  const { securitySchemes } = objectIn(components)
  const used = referencesIn({ made, securitySchemes }, root)
  const left = Object.entries(objectIn(components)).map(([kind, all]) => [
    kind,
    Object.fromEntries(
      Object.entries(objectIn(all)).filter(
        ([name]) => kind === 'securitySchemes' || used.has(JSON.stringify(['components', kind, name])),
      ),
    ),
  ])
  return { ...made, components: Object.fromEntries(left) }
}

function withoutExamples(requestBody: unknown): JsonObject {
  const { content, ...body } = objectIn(requestBody)
  if (content === undefined) return requestBody === undefined ? {} : { requestBody }
  const types = Object.entries(objectIn(content)).map(([type, media]) => {
    const { example: _one, examples: _several, ...rest } = objectIn(media)
    return [type, rest]
  })
  return { requestBody: { ...body, content: Object.fromEntries(types) } }
}

function namesOf({ operationId, tags }: JsonObject): string[] {
  return [operationId, ...(Array.isArray(tags) ? tags : [])].map(String)
}

/** The components that a value refers to, and those that these do, each by its kind and name. */
function referencesIn(start: unknown, root: JsonObject): Set<string> {
  const found = new Set<string>()
  const waiting = [start]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next !== 'object' || next === null) continue
    const { $ref } = next as JsonObject
    if (typeof $ref === 'string' && $ref.startsWith('#/')) {
      const place = keysOfPointer($ref.slice(1)).slice(0, 3)
      const key = JSON.stringify(place)
      if (!found.has(key)) waiting.push(place.reduce<unknown>((value, name) => objectIn(value)[name], root))
      found.add(key)
    }
    for (const one of Object.values(next)) waiting.push(one)
  }
  return found
}

const objectIn = (value: unknown): JsonObject => jsonObject.safeParse(value).data ?? {}
