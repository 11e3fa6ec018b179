import { z } from 'zod'
import { type ResourceDefinition, text, url } from './definition.ts'

export const action: ResourceDefinition = {
  name: 'actions',
  title: 'Action',
  description: 'Something an assistant can have done, described by an OpenAPI document.',
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
    specType: text.describe('`openapi3-yaml` for an OpenAPI 3 document in YAML'),
    moduleUrl: url.describe('What executes it: `native:request`, or an http(s) URL'),
    spec: text.describe('How it is performed'),
  }),
  indexed: { name: 'text', specType: 'text' },
  references: [],
}
