import type { Authorizer } from '@parley/shared/authorizer'
import { FairSlots } from '@parley/shared/fair-slots'
import { route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import type { DiscoverTools } from '../../agents/tools/discover-tools.ts'

const MAX_BODY_BYTES = 8 * 1024
const MAX_URL = 2_048
/** In flight, and those that wait for that. */
const LIMITS = {
  ...{ of: 'looks at URLs', total: 32, each: [4], spare: 4 },
  queue: { total: 64, each: 8, ms: 5_000 },
}

/** The dependencies of looking for tools. */
export interface Discovering {
  authorizer: Authorizer
  discoverTools: DiscoverTools
}

export const discoverTools = route({
  method: 'POST',
  path: '/rest/actions/discover',
  resource: 'actions',
  access: 'write',
  id: 'discoverTools',
  tag: 'actions',
  summary: 'Find the tools at a URL',
  description:
    'What an action for this URL would be made of: the OpenAPI document that is there, or the tools that the MCP server there lists. It is asked without credentials, and nothing is stored.',
  body: {
    schema: z
      .strictObject({
        url: z
          .url({ protocol: /^https?$/, error: 'expected an http(s) URL', abort: true })
          .max(MAX_URL)
          .refine((text) => {
            const { username, password } = new URL(text)
            return username + password === ''
          }, 'expected a URL without user information'),
      })
      .meta({ id: 'DiscoverToolsBody' }),
    example: { url: 'https://shop.example/openapi.json' },
    maxBytes: MAX_BODY_BYTES,
  },
  response: {
    schema: z
      .object({
        specType: z
          .enum(['openapi3-yaml', 'mcp'])
          .optional()
          .describe('Of the action; left out where nothing there can be one'),
        spec: z.string().optional().describe('The OpenAPI document'),
        tools: z
          .array(z.object({ name: z.string(), description: z.string() }))
          .describe('Those that the MCP server lists'),
        notes: z.array(z.string()).describe('What is missing, and why'),
      })
      .meta({ id: 'DiscoveredTools' }),
    example: {
      specType: 'mcp',
      tools: [{ name: 'orderState', description: 'Where it is' }],
      notes: [],
    },
  },
  errors: ['rate_limited'],
  handle: (needed: Discovering) => {
    const slots = new FairSlots(LIMITS)
    return async (_req, res, asked) => {
      const caller = callerOf(res)
      await needed.authorizer.require(caller, 'actions', 'write')
      const { url } = asked.body()
      const workspace = caller.workspace._id
      const release = await slots.enter([workspace])
      try {
        res.set('cache-control', 'no-store').json(await needed.discoverTools({ workspace, url }))
      } finally {
        release()
      }
    }
  },
})
