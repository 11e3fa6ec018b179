import type { CONFIGURATION_RESOURCES } from '../configuration-resources.ts'

type Resource = (typeof CONFIGURATION_RESOURCES)[number]

interface Kind {
  /** What one of its documents is called, and what it is for: the heading of its documentation. */
  title: string
  description: string
  /** Of its fields, those with ids of another kind. */
  references: Readonly<Record<string, Resource>>
}

/** The kinds of documents, by the names of their collections. It is data alone, for a browser as well. */
export const KINDS = {
  channels: {
    title: 'Channel',
    description: 'Where messages come in and answers go out, and what handles them in between.',
    references: { 'config.assistantId': 'assistant' },
  },
  assistant: {
    title: 'Assistant',
    description: 'Who a person talks to: a character, a job, and the actions it may take.',
    references: { actions: 'actions', configs: 'configs', job: 'jobs' },
  },
  jobs: {
    title: 'Job',
    description: 'What an assistant is there for, and the workflow that its tasks begin with.',
    references: { actions: 'actions', defaultWorkflow: 'workflows' },
  },
  actions: {
    title: 'Action',
    description:
      'What an assistant can have done: the operations of an OpenAPI document, or the tools of an MCP server.',
    references: {},
  },
  configs: {
    title: 'Config',
    description: 'A free-form setting of something else, for example of an assistant.',
    references: {},
  },
  workflows: {
    title: 'Workflow',
    description: 'Steps that a task goes through.',
    references: { steps: 'steps', firstStep: 'steps' },
  },
  steps: {
    title: 'Step',
    description: 'One step of a workflow: what it is to accomplish, and when its answer is submitted.',
    references: { job: 'jobs', next: 'steps' },
  },
  tasks: {
    title: 'Task',
    description:
      'One run of a workflow, for one thread; answers that are submitted move it from step to step.',
    references: { workflow: 'workflows', currentStep: 'steps' },
  },
} as const satisfies Partial<Record<Resource, Kind>>
