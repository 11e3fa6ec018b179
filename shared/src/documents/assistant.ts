import type { z } from 'zod'
import { documentOf } from './fields.ts'

/** The one that a person talks to. */
export const assistantDocument = documentOf(({ text, optionalId, optionalIds }) => ({
  name: text,
  description: text,
  backstory: text,
  actions: optionalIds,
  configs: optionalIds,
  job: optionalId,
}))

export type Assistant = z.output<typeof assistantDocument.stored>

/** The purpose of an assistant. */
export const jobDocument = documentOf(({ text, optionalId, optionalIds }) => ({
  role: text,
  goal: text,
  description: text,
  actions: optionalIds,
  defaultWorkflow: optionalId,
}))

export type Job = z.output<typeof jobDocument.stored>

/** Something that an assistant can have done. */
export const actionDocument = documentOf(({ text, url }) => ({
  name: text,
  description: text,
  specType: text.describe('`openapi3-yaml` for an OpenAPI 3 document in YAML, `mcp` for an MCP server'),
  moduleUrl: url.describe(
    'What executes it: `native:request` (with `?server=` the base of relative servers), an http(s) URL, or the URL of the MCP server (Streamable HTTP)',
  ),
  spec: text.describe('How it is performed; not read of an MCP server'),
}))

/** A free-form setting of something else. */
export const configDocument = documentOf(({ text, id, object }) => ({
  name: text,
  value: object,
  owner: id.describe('Whose setting it is, for example the id of an assistant'),
  ownerType: text.describe('What the owner is, for example `assistant`'),
}))

/** The config of an assistant that names what it may start besides its job's default workflow. */
export const WORKFLOWS_CONFIG = 'workflows'
/** The config of an action that has its credentials. */
export const CREDENTIALS_CONFIG = 'credentials'
