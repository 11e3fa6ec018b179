interface Kind {
  /** The name of one of its documents, and its purpose: the heading of its documentation. */
  title: string
  description: string
  /** Of its fields, those with ids of another kind. */
  references: Readonly<Record<string, string>>
}

/** The kinds of documents, by the names of their collections. It is data alone, for a browser as well. */
export const KINDS = {
  channels: {
    title: 'Channel',
    description: 'Where messages come in and answers go out, and what handles them in between.',
    references: { 'config.assistantId': 'assistant' },
  },
  tasks: {
    title: 'Task',
    description:
      'One run of a workflow, for one thread; answers that are submitted move it from step to step.',
    references: { workflow: 'workflows', currentStep: 'steps' },
  },
  steps: {
    title: 'Step',
    description: 'One step of a workflow: what it is to accomplish, and when its answer is submitted.',
    references: { job: 'jobs', next: 'steps' },
  },
  assistant: {
    title: 'Assistant',
    description: 'Who a person talks to: a character, a job, and the actions it may take.',
    references: { actions: 'actions', configs: 'configs', job: 'jobs' },
  },
  configs: {
    title: 'Config',
    description: 'A free-form setting of something else, for example of an assistant.',
    references: {},
  },
  actions: {
    title: 'Action',
    description:
      'What an assistant can have done: the operations of an OpenAPI document, or the tools of an MCP server.',
    references: {},
  },
  jobs: {
    title: 'Job',
    description: 'What an assistant is there for, and the workflow that its tasks begin with.',
    references: { actions: 'actions', defaultWorkflow: 'workflows' },
  },
  workflows: {
    title: 'Workflow',
    description: 'Steps that a task goes through.',
    references: { steps: 'steps', firstStep: 'steps' },
  },
  subscriptions: {
    title: 'Subscription',
    description: 'Where events are posted: what happens to messages, threads, tasks and the configuration.',
    references: {},
  },
  replies: {
    title: 'CannedReply',
    description:
      'A text that the team replies with, by a short name; `{{name}}` in it is the person’s name, `{{me}}` one’s own.',
    references: {},
  },
} as const satisfies Record<string, Kind>

/** A collection of the configuration service. */
export type ResourceName = keyof typeof KINDS

/** The collections as they stand in paths: `/rest/<name>`. */
export const CONFIGURATION_RESOURCES = Object.keys(KINDS) as [ResourceName, ...ResourceName[]]

/** Resources that the rules of roles decide about. */
export const RULED_RESOURCES: readonly string[] = [
  ...['messages', 'threads'],
  ...CONFIGURATION_RESOURCES,
  ...['users', 'roles', 'teams', 'tokens', 'workspaces', 'audit', 'usage'],
  ...['people', 'segments', 'templates', 'campaigns'],
]

/** Further names of collections: `/rest/<alias>` is the same as `/rest/<name>`. */
export const RESOURCE_ALIASES: Readonly<Record<string, ResourceName>> = {
  assistants: 'assistant',
}

/** The paths below `/rest/` at which a collection is: its name, and its aliases. */
export function pathsOf(name: string): string[] {
  return [name, ...Object.keys(RESOURCE_ALIASES).filter((alias) => RESOURCE_ALIASES[alias] === name)]
}
