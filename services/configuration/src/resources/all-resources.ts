import { z } from 'zod'
import { channel } from './channel.ts'
import { config } from './config.ts'
import {
  optionalId,
  optionalIds,
  optionalText,
  RESOURCES,
  type ResourceDefinition,
  type ResourceName,
  text,
  url,
} from './definition.ts'
import { subscription } from './subscription.ts'
import { task } from './task.ts'

const step: ResourceDefinition = {
  name: 'steps',
  title: 'Step',
  description: 'One step of a workflow: what it is to accomplish, and when its answer is submitted.',
  example: {
    name: 'Greet',
    description: 'Greet the user',
    instructions: 'Say hello',
    submitWhen: 'the user answered',
    job: 1,
    next: 2,
  },
  schema: z.strictObject({
    name: text,
    description: text.describe('What the step is to accomplish'),
    instructions: text.describe('For the assistant that completes it'),
    submitWhen: text.describe('When the step counts as complete, and its answer is submitted'),
    job: optionalId.describe('A job that it overrides'),
    next: optionalId.describe('The step after it; none completes the task'),
  }),
  indexed: { name: 'text', job: 'integer', next: 'integer' },
  references: [
    { field: 'job', to: 'jobs' },
    { field: 'next', to: 'steps' },
  ],
}

const assistant: ResourceDefinition = {
  name: 'assistant',
  title: 'Assistant',
  description: 'Who a person talks to: a character, a job, and the actions it may take.',
  example: {
    name: 'Ana',
    description: 'Assistant',
    backstory: 'Knows the product',
    actions: [1, 2],
    configs: [1],
    job: 1,
  },
  schema: z.strictObject({
    name: text,
    description: text,
    backstory: text,
    actions: optionalIds,
    configs: optionalIds,
    job: optionalId,
  }),
  indexed: { name: 'text', job: 'integer', actions: 'integers', configs: 'integers' },
  references: [
    { field: 'actions', to: 'actions' },
    { field: 'configs', to: 'configs' },
    { field: 'job', to: 'jobs' },
  ],
}

const action: ResourceDefinition = {
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

const workflow: ResourceDefinition = {
  name: 'workflows',
  title: 'Workflow',
  description: 'Steps that a task goes through.',
  example: { name: 'Onboarding', description: 'In steps', instructions: '', steps: [1, 2], firstStep: 1 },
  schema: z.strictObject({
    name: text,
    description: text,
    instructions: optionalText,
    steps: optionalIds,
    firstStep: optionalId,
  }),
  indexed: { name: 'text', firstStep: 'integer', steps: 'integers' },
  references: [
    { field: 'steps', to: 'steps' },
    { field: 'firstStep', to: 'steps' },
  ],
}

const job: ResourceDefinition = {
  name: 'jobs',
  title: 'Job',
  description: 'What an assistant is there for, and the workflow that its tasks begin with.',
  example: { role: 'Agent', goal: 'Help', description: 'Helps customers', actions: [1], defaultWorkflow: 1 },
  schema: z.strictObject({
    role: text,
    goal: text,
    description: text,
    actions: optionalIds,
    defaultWorkflow: optionalId,
  }),
  indexed: { role: 'text', defaultWorkflow: 'integer', actions: 'integers' },
  references: [
    { field: 'actions', to: 'actions' },
    { field: 'defaultWorkflow', to: 'workflows' },
  ],
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
}

/** Every resource in the order of {@link RESOURCES}. */
export const allResources: readonly ResourceDefinition[] = RESOURCES.map((name) => definitions[name])
