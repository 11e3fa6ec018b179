import type { JsonResponse } from '@parley/local/testing/send-json'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { testServers } from '@parley/local/testing/test-servers'
import { DEAD_LETTER_QUEUE, declareTasks, TASKS_QUEUE } from '@parley/shared/messaging/topology'
import { TASK_SUBMISSION_TYPE, type TaskSubmission } from '@parley/shared/task-submission'
import { connect, type GetMessage } from 'amqplib'
import { bodies } from './bodies.ts'
import { type ConfigurationServer, startConfiguration } from './configuration-server.ts'
import { eventually } from './eventually.ts'

interface SubmissionsWorld {
  server: ConfigurationServer
  /** Publishes to queue `tasks` and waits for the confirmation. */
  publish(content: string, properties?: { type?: string; messageId?: string }): Promise<void>
  submit(submission: Partial<TaskSubmission> & Pick<TaskSubmission, 'messageId'>): Promise<void>
  /** Waits until queue `tasks` has neither waiting nor unacknowledged messages. */
  drained(): Promise<void>
  /** Takes one of what was rejected, when there is one. */
  deadLettered(): Promise<GetMessage>
  task(id: number, workspace?: number): Promise<Parsed>
  /** All tasks of a workspace. */
  list(workspace: number): Promise<Parsed>
  put(id: number, body: object, workspace: number): Promise<JsonResponse>
  /** A new workspace with an assistant whose job has a workflow of the steps 1 → 2 → 3. */
  fresh(): Promise<number>
  close(): Promise<void>
}

/** The real service, which reaches its servers through proxies that can be cut, and a publisher with none. */
export async function startSubmissionsWorld(): Promise<SubmissionsWorld> {
  const { amqpUrl } = await testServers()
  const server = await startConfiguration({ proxies: ['mongo', 'rabbitmq'] })
  const connection = await connect(amqpUrl)
  const channel = await connection.createConfirmChannel()
  await declareTasks(channel)
  const publish: SubmissionsWorld['publish'] = async (content, properties = {}) => {
    channel.sendToQueue(TASKS_QUEUE, Buffer.from(content), {
      type: TASK_SUBMISSION_TYPE,
      contentType: 'application/json',
      persistent: true,
      ...properties,
    })
    await channel.waitForConfirms()
  }
  let workspaces = 0
  return {
    server,
    publish,
    submit: (submission) => {
      const { messageId } = submission
      return publish(JSON.stringify({ ...SUBMISSION, ...submission }), { messageId })
    },
    drained: async () => {
      // A single active consumer gets the mark after everything before it.
      const messageId = `mark-${crypto.randomUUID()}`
      await publish('{}', { type: 'mark', messageId })
      await eventually(
        () => channel.get(DEAD_LETTER_QUEUE, { noAck: true }),
        (message) => message !== false && message.properties.messageId === messageId,
        40_000,
      )
    },
    deadLettered: async () => {
      const message = await eventually(
        () => channel.get(DEAD_LETTER_QUEUE, { noAck: true }),
        (got) => got !== false,
      )
      if (message === false) throw new Error('nothing was rejected')
      return message
    },
    task: async (id, workspace = 1) => (await server.call('GET', `/rest/tasks/${id}`, { workspace })).json,
    list: async (workspace) => (await server.call('GET', '/rest/tasks', { workspace })).json.data,
    put: (id, body, workspace) =>
      server.call('PUT', `/rest/tasks/${id}`, { body: { ...bodies.tasks, ...body }, workspace }),
    fresh: async () => {
      const workspace = ++workspaces
      await configure(server, workspace)
      return workspace
    },
    close: async () => {
      await connection.close()
      await server.close()
    },
  }
}

const SUBMISSION: Omit<TaskSubmission, 'messageId'> = {
  workspace: 1,
  channelId: 1,
  assistantId: 1,
  thread: 'thread-1',
  submit: { name: 'Ana' },
  at: '2026-11-20T12:00:00.000Z',
}

/** An assistant (1) whose job (1) has workflow 1 with steps 1 → 2 → 3. */
async function configure({ call }: ConfigurationServer, workspace: number): Promise<void> {
  const put = (path: string, body: object) => call('PUT', `/rest/${path}`, { body, workspace })
  await put('assistant/1', bodies.assistant)
  await put('jobs/1', bodies.jobs)
  await put('workflows/1', { ...bodies.workflows, steps: [1, 2, 3] })
  for (const id of [1, 2, 3]) await put(`steps/${id}`, { ...bodies.steps, next: id === 3 ? null : id + 1 })
}
