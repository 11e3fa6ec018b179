import type { JsonObject } from '@parley/shared/json-object'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { Request, RequestHandler } from 'express'
import { requireMayBecome, requireWritable, type WriteAccess, writeAccess } from '../access/access.ts'
import { documentFilter } from '../access/document-filter.ts'
import { prefersStrict, requireReferences } from '../references/require-references.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import type { Author, LiveDocument, ResourceDocument } from '../store/stored-document.ts'
import { changeDocument, createDocument, KeyTaken } from '../store/write-document.ts'
import { authorOf } from './author.ts'
import { buildDocument, parseBody } from './body.ts'
import type { Dependencies } from './dependencies.ts'
import { locate } from './locate.ts'
import { parameters } from './parameters.ts'
import { type PathId, parsePathId } from './path-id.ts'
import { requirePreconditions, sendDocument } from './preconditions.ts'

const MAX_ATTEMPTS = 20

interface Put {
  definition: ResourceDefinition
  workspace: number
  author: Author
  path: PathId
  /** What is to be stored under `id` in the place of `current`; throws what the caller is told. */
  build(id: number, current: LiveDocument | undefined): ResourceDocument
  guard: Record<string, unknown>
}

/** `PUT /rest/{resource}/{id}`: replaces the document, or creates it under an id or key not in use. */
export function putDocument(
  dependencies: Dependencies,
  definition: ResourceDefinition,
): RequestHandler<{ id: string }> {
  return async (req, res) => {
    const path = parsePathId(definition, req.params.id)
    parameters(req, [])
    const caller = callerOf(res)
    const workspace = caller.workspace._id
    const access = await writeAccess(dependencies.authorizer, caller, definition.name)
    const fields = parseBody(definition, req.body)
    if (prefersStrict(req, res)) {
      const { database, authorizer } = dependencies
      await requireReferences({ database, authorizer, caller }, { definition, fields, self: path.id })
    }
    const build = replacing({ req, definition, access, fields, key: path.key })
    const guard = documentFilter(access.write)
    const name = `${definition.name}/${workspace}/${req.params.id}`
    const put = { definition, workspace, author: authorOf(caller), path, build, guard }
    sendDocument(req, res, await dependencies.writes.run(name, () => store(dependencies, put)))
  }
}

function replacing(options: {
  req: Request<{ id: string }>
  definition: ResourceDefinition
  access: WriteAccess
  fields: JsonObject
  key: string | undefined
}): Put['build'] {
  const { req, definition, access, fields, key } = options
  return (id, current) => {
    if (current !== undefined) requireWritable(access, current)
    requirePreconditions(req, current)
    const doc = buildDocument({ definition, current: current?.doc, id, key, fields })
    requireMayBecome(access, doc)
    return doc
  }
}

async function store(dependencies: Dependencies, put: Put): Promise<LiveDocument> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    try {
      const id = put.path.id ?? (await idOfKey(dependencies, put))
      return id === undefined ? await create(dependencies, put) : await replace(dependencies, put, id)
    } catch (error) {
      // Somebody else made this key just now: it names their document.
      if (!(error instanceof KeyTaken)) throw error
    }
  }
  throw new Problem('unavailable', { detail: 'Too many others are writing this key.' })
}

async function idOfKey({ database }: Dependencies, put: Put): Promise<number | undefined> {
  return (await locate({ database, ...put }))?.doc._id
}

function create({ database, ids }: Dependencies, put: Put): Promise<LiveDocument> {
  const { definition, workspace, author, build } = put
  return createDocument({ database, ids, definition, workspace, author, build: (id) => build(id, undefined) })
}

function replace({ database }: Dependencies, put: Put, id: number): Promise<LiveDocument> {
  const { definition, workspace, author, build, guard } = put
  const address = { workspace, id }
  return changeDocument({
    database,
    definition,
    address,
    author,
    guard,
    next: (current) => build(id, current),
  })
}
