import { DOCUMENT_CHANGE_TYPE, type DocumentChange } from '@parley/shared/document-change'
import type { JsonObject } from '@parley/shared/json-object'
import type { Log } from '@parley/shared/log'
import { connectBroker } from '@parley/shared/messaging/connection'
import type { Publication } from '@parley/shared/messaging/publish-observer'
import { createPublisher } from '@parley/shared/messaging/publisher'
import {
  CONFIGURATION_EXCHANGE,
  DISPATCHER_CHANGES,
  MAX_MESSAGE_BYTES,
  SEALED_READERS,
} from '@parley/shared/messaging/topology'
import { unescapeKeys } from '@parley/shared/safe-keys'
import type { DocumentWrite } from '../relay/relay.ts'
import { valueAt } from '../resources/definition.ts'
import type { ResourceDocument } from '../store/stored-document.ts'

export interface ConfigurationEvents {
  /** Resolves when the broker has confirmed all; rejects when it is unavailable or has not in 4.5 s. */
  publish(changes: readonly DocumentWrite[]): Promise<void>
  isUp(): Promise<boolean>
  /** True if a dispatcher is there that can't open all sealed secrets. Rejects with `unavailable` without a broker. */
  isReadByEarlier(): Promise<boolean>
  close(): Promise<void>
}

/** A confirmed publisher to exchange `configuration`. */
export async function connectConfigurationEvents(options: {
  url: string
  log: Log
}): Promise<ConfigurationEvents> {
  const { url, log } = options
  const broker = await connectBroker({
    url,
    declare: async (channel) =>
      void (await channel.assertExchange(CONFIGURATION_EXCHANGE, 'topic', { durable: true })),
    log,
  })
  const publisher = createPublisher({ broker, log })
  return {
    publish: async (changes) => {
      await Promise.all(changes.map((change) => publisher.publish(publicationOf(change))))
    },
    isUp: () => publisher.isUp(),
    isReadByEarlier: async () => {
      const [all, present] = await Promise.all([DISPATCHER_CHANGES, SEALED_READERS].map(broker.consumersOf))
      return all !== present
    },
    close: async () => {
      await publisher.close()
      await broker.close()
    },
  }
}

function publicationOf({ resource, stored, before }: DocumentWrite): Publication {
  const { _id, version, written } = stored
  return {
    exchange: CONFIGURATION_EXCHANGE,
    routingKey: `${resource}.${written.as}`,
    messageId: `${resource}/${_id.workspace}/${_id.id}/${version}`,
    type: DOCUMENT_CHANGE_TYPE,
    timestamp: Math.floor(Date.parse(written.at) / 1000),
    headers: { workspace: _id.workspace, version },
    body: bodyOf(resource, stored, before),
  }
}

/** The state after the change; without what a task was before where the broker would not take both. */
function bodyOf(resource: string, stored: DocumentWrite['stored'], before: DocumentWrite['before']): Buffer {
  const body = stateOf(resource, stored, before)
  return body.length <= MAX_MESSAGE_BYTES ? body : stateOf(resource, stored, undefined)
}

/** `document` is null once it is deleted. */
function stateOf(
  resource: string,
  { _id, version, written, doc }: DocumentWrite['stored'],
  before: DocumentWrite['before'],
): Buffer {
  const document = doc === undefined ? null : unescapeKeys(doc)
  const { workspace, id } = _id
  const { as: operation, at, by } = written
  const published: DocumentChange = {
    resource,
    workspace,
    _id: id,
    version,
    operation,
    at,
    by: { ...by },
    document,
    ...(resource === 'tasks' && before?.doc !== undefined
      ? { before: taskBefore(unescapeKeys(before.doc)) }
      : {}),
  }
  return Buffer.from(JSON.stringify(published))
}

/** The fields that show a task's progress by a change; its other content was published before. */
function taskBefore({ status, currentStep, context }: ResourceDocument): DocumentChange['before'] {
  const steps = valueAt(context, 'steps')
  return { status: String(status), currentStep, steps: Object.keys((steps ?? {}) as JsonObject) }
}
