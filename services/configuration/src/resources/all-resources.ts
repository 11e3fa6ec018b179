import { boundErrorsIn } from '@parley/shared/bound-value'
import { CONFIGURATION_RESOURCES, KINDS, type ResourceName } from '@parley/shared/configuration-resources'
import { defined } from '@parley/shared/defined'
import { actionDocument, assistantDocument, jobDocument } from '@parley/shared/documents/assistant'
import { cannedReplyDocument } from '@parley/shared/documents/canned-reply'
import { stepDocument, workflowDocument } from '@parley/shared/documents/workflow'
import { z } from 'zod'
import { channel } from './channel.ts'
import { config } from './config.ts'
import { type ResourceDefinition, referencesOf } from './definition.ts'
import { subscription } from './subscription.ts'
import { task } from './task.ts'

const step: ResourceDefinition = {
  name: 'steps',
  ...KINDS.steps,
  example: {
    name: 'Greet',
    description: 'Greet the user',
    instructions: 'Say hello',
    submitWhen: 'the user answered',
    job: 1,
    next: 2,
  },
  schema: stepDocument.body,
  indexed: { name: 'text', job: 'integer', next: 'integer' },
  references: referencesOf('steps'),
}

const assistant: ResourceDefinition = {
  name: 'assistant',
  ...KINDS.assistant,
  example: {
    name: 'Ana',
    description: 'Assistant',
    backstory: 'Knows the product',
    actions: [1, 2],
    configs: [1],
    job: 1,
  },
  schema: assistantDocument.body,
  indexed: { name: 'text', job: 'integer', actions: 'integers', configs: 'integers' },
  references: referencesOf('assistant'),
}

const action: ResourceDefinition = {
  name: 'actions',
  ...KINDS.actions,
  example: {
    name: 'Lookup',
    description: 'Looks up an order',
    specType: 'openapi3-yaml',
    moduleUrl: 'https://example.com/module.js',
    spec: 'openapi: 3.0.0\ninfo: {title: t, version: "1"}\npaths: {}\n',
  },
  schema: actionDocument.body,
  own: {
    shape: {
      failing: z
        .object({ since: z.iso.datetime(), reason: z.string() })
        .optional()
        .describe('There while its server gives no tools: since when, and why'),
      missing: z
        .object({ since: z.iso.datetime(), reasons: z.array(z.string()) })
        .optional()
        .describe('There where something of its spec or server is no tool: since when, and why'),
    },
    example: {},
    // Another server or spec may give them.
    valuesOf: ({ from, to }) =>
      from === undefined || from.moduleUrl !== to.moduleUrl || from.specType !== to.specType
        ? {}
        : defined({ failing: from.failing, missing: from.spec === to.spec ? from.missing : undefined }),
  },
  indexed: { name: 'text', specType: 'text' },
  references: referencesOf('actions'),
  errorsOfChange: ({ sent }) =>
    boundErrorsIn(String(sent.spec)).map((message) => ({ path: '/spec', code: 'invalid_value', message })),
}

const workflow: ResourceDefinition = {
  name: 'workflows',
  ...KINDS.workflows,
  example: { name: 'Onboarding', description: 'In steps', instructions: '', steps: [1, 2], firstStep: 1 },
  schema: workflowDocument.body,
  indexed: { name: 'text', firstStep: 'integer', steps: 'integers' },
  references: referencesOf('workflows'),
}

const job: ResourceDefinition = {
  name: 'jobs',
  ...KINDS.jobs,
  example: { role: 'Agent', goal: 'Help', description: 'Helps customers', actions: [1], defaultWorkflow: 1 },
  schema: jobDocument.body,
  indexed: { role: 'text', defaultWorkflow: 'integer', actions: 'integers' },
  references: referencesOf('jobs'),
}

const MAX_REPLIES = 1_000

const reply: ResourceDefinition = {
  name: 'replies',
  ...KINDS.replies,
  example: { name: 'hours', text: 'Hello {{name}}, we are open from 9 to 18.' },
  schema: cannedReplyDocument.body,
  indexed: { name: 'text' },
  references: referencesOf('replies'),
  most: MAX_REPLIES,
}

/** Every resource by its name; the compiler sees to it that none is missing. */
export const definitions: Readonly<Record<ResourceName, ResourceDefinition>> = {
  channels: channel,
  tasks: task,
  steps: step,
  assistant,
  configs: config,
  actions: action,
  jobs: job,
  workflows: workflow,
  subscriptions: subscription,
  replies: reply,
}

/** Every resource in the order of {@link CONFIGURATION_RESOURCES}. */
export const allResources: readonly ResourceDefinition[] = CONFIGURATION_RESOURCES.map(
  (name) => definitions[name],
)
