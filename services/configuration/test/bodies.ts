import type { ResourceName } from '../src/resources/definition.ts'

/** A complete, valid body for every resource. */
export const bodies = {
  channels: {
    name: 'Support',
    description: 'Support line',
    extId: 'support-line',
    hook: 'whatsapp',
    callback: 'rpc',
    handlerUrl: 'native:agents/functionCall',
    config: { assistantId: 1, streamResponseBy: 'turn', extra: { 'a.b': 1, $c: 2 } },
  },
  tasks: {
    workflow: 1,
    currentStep: 1,
    status: 'active',
    name: 'Onboard',
    description: 'Onboard a customer',
    extId: 'thread-1',
    context: { a: { b: [1, 2] } },
  },
  steps: {
    name: 'Greet',
    description: 'Greet the user',
    instructions: 'Say hello',
    submitWhen: 'the user answered',
    job: 1,
    next: 2,
  },
  assistant: {
    name: 'Ana',
    description: 'Assistant',
    backstory: 'Knows the product',
    actions: [1, 2],
    configs: [1],
    job: 1,
  },
  configs: {
    name: 'AI_CHAT_PROVIDER',
    value: { provider: 'openai', model: 'x', deep: { $set: 1, 'dotted.key': true } },
    owner: 1,
    ownerType: 'assistant',
  },
  actions: {
    name: 'Lookup',
    description: 'Looks up an order',
    specType: 'openapi3-yaml',
    moduleUrl: 'https://example.com/module.js',
    spec: 'openapi: 3.0.0\ninfo: {title: t, version: "1"}\npaths: {}\n',
  },
  jobs: { role: 'Agent', goal: 'Help', description: 'Helps customers', actions: [1], defaultWorkflow: 1 },
  workflows: { name: 'Onboarding', description: 'In steps', instructions: '', steps: [1, 2], firstStep: 1 },
} satisfies Record<ResourceName, Record<string, unknown>>
