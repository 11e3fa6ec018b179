import type { Access } from './decide.ts'

/** An ability of a role without a right of its own for it, because documents name others. */
interface ByReference {
  /** All of these rights together give it. */
  rights: readonly (readonly [access: Access, resource: string])[]
  gives: string
}

/** The abilities that rights give together by way of references. A reference is accepted from those who may read what it names. */
export const BY_REFERENCE: readonly ByReference[] = [
  {
    rights: [
      ['write', 'assistant'],
      ['read', 'actions'],
    ],
    gives: "has an assistant call these actions with the workspace's credentials, also in a trial",
  },
  {
    rights: [
      ['write', 'assistant'],
      ['read', 'configs'],
    ],
    gives:
      'has an assistant work with these configs: their models, and their keys at the origins they were stored for',
  },
  {
    rights: [
      ['write', 'assistant'],
      ['read', 'jobs'],
    ],
    gives: 'gives an assistant these jobs with all that they name: actions, and a workflow to start',
  },
  {
    rights: [['read', 'assistant']],
    gives: 'is shown in the prompt of an assistant what its job and the workflows that it may start say',
  },
  {
    rights: [
      ['read', 'assistant'],
      ['read', 'tasks'],
    ],
    gives: 'is shown in the prompt what the workflow and the step of the task say',
  },
  {
    rights: [
      ['write', 'jobs'],
      ['read', 'actions'],
    ],
    gives: "has each assistant with the job call these actions with the workspace's credentials",
  },
  {
    rights: [
      ['write', 'jobs'],
      ['read', 'workflows'],
    ],
    gives: 'has each assistant with the job start tasks of these workflows',
  },
  {
    rights: [
      ['write', 'steps'],
      ['read', 'jobs'],
    ],
    gives: 'gives whoever works at the step these jobs with the actions that they name',
  },
  {
    rights: [
      ['write', 'steps'],
      ['read', 'steps'],
    ],
    gives: 'has tasks go on at these steps',
  },
  {
    rights: [
      ['write', 'workflows'],
      ['read', 'steps'],
    ],
    gives: 'has tasks of the workflow go through these steps, with the jobs that they name',
  },
  {
    rights: [
      ['write', 'tasks'],
      ['read', 'steps'],
    ],
    gives: "puts a thread's task at these steps, with the jobs that they name",
  },
  {
    rights: [
      ['write', 'tasks'],
      ['read', 'workflows'],
    ],
    gives: "gives a thread's task these workflows, whose texts its agent is told",
  },
  {
    rights: [
      ['write', 'channels'],
      ['read', 'assistant'],
    ],
    gives:
      'has these assistants answer on a channel, at an address that whoever writes the channel chooses, with all that they name: actions, configs, job and workflows',
  },
  {
    rights: [
      ['write', 'configs'],
      ['read', 'workflows'],
    ],
    gives: 'has the assistants with a config `workflows` start tasks of these workflows',
  },
  {
    rights: [
      ['write', 'configs'],
      ['write', 'assistant'],
    ],
    gives:
      'gives these assistants configs of their own: another model, which is sent what people say to them',
  },
  {
    rights: [
      ['write', 'configs'],
      ['write', 'actions'],
    ],
    gives: 'gives these actions credentials',
  },
  {
    rights: [['write', 'configs']],
    gives:
      'says what the configs that are there hold: which model answers for the assistants that have them, at which address (what people say goes there, the keys that were stored for another origin do not)',
  },
  {
    rights: [['write', 'actions']],
    gives:
      'says what the assistants that have the action call (not with credentials that were stored for another origin)',
  },
  {
    rights: [
      ['write', 'campaigns'],
      ['read', 'channels'],
      ['read', 'templates'],
      ['read', 'people'],
      ['write', 'messages'],
    ],
    gives: 'sends these templates to these people from these channels, with the channels’ credentials',
  },
  {
    rights: [
      ['write', 'campaigns'],
      ['read', 'segments'],
    ],
    gives: 'makes whom these segments find the audience of campaigns, as far as these people may be read',
  },
  {
    rights: [
      ['write', 'subscriptions'],
      ['read', 'channels'],
    ],
    gives: 'has events of these channels posted, as far as they may be read',
  },
]

/** Lists the abilities that a right for this resource gives to a role that `grants` these. */
export const byReference = (
  resource: string,
  grants: (access: Access, resource: string) => boolean,
): ByReference[] =>
  BY_REFERENCE.filter(
    ({ rights }) =>
      rights.some(([, of]) => of === resource) && rights.every(([access, of]) => grants(access, of)),
  )

/** The rights in words, which `text` puts into a language. */
export const rightsText = (
  rights: ByReference['rights'],
  text: (english: string) => string = (english) => english,
): string => rights.map(([access, resource]) => `${text(access)} \`${resource}\``).join(` ${text('and')} `)
