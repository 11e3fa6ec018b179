import { z } from 'zod'
import { type ResourceDefinition, text, url } from './definition.ts'

export const action: ResourceDefinition = {
  name: 'actions',
  title: 'Action',
  description:
    'What an assistant can have done: the operations of an OpenAPI document, or the tools of an MCP server.',
  example: {
    name: 'Lookup',
    description: 'Looks up an order',
    specType: 'openapi3-yaml',
    moduleUrl: 'https://example.com/module.js',
    spec: 'openapi: 3.0.0\ninfo: {title: t, version: "1"}\npaths: {}\n',
  },
  schema: z.strictObject({
    name: text,
    description: text,
    specType: text.describe('`openapi3-yaml` for an OpenAPI 3 document in YAML, `mcp` for an MCP server'),
    moduleUrl: url.describe(
      'What executes it: `native:request`, an http(s) URL, or the URL of the MCP server (Streamable HTTP)',
    ),
    spec: text.describe('How it is performed; not read of an MCP server'),
  }),
  indexed: { name: 'text', specType: 'text' },
  references: [],
}
