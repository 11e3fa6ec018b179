import { CONFIGURATION_EXCHANGE, connectBroker, openConfirmChannel } from '@parley/shared/broker'
import { DOCUMENT_CHANGE_TYPE, type DocumentChange as Published } from '@parley/shared/document-change'
import type { Log } from '@parley/shared/log'
import { unescapeKeys } from '@parley/shared/safe-keys'
import type { ConfirmChannel } from 'amqplib'
import type { DocumentChange } from '../relay/change-stream.ts'

const CONFIRM_MS = 5_000

export interface ConfigurationEvents {
  /** Resolves when the broker has confirmed all; rejects when it is unavailable or has not in 5 s. */
  publish(changes: readonly DocumentChange[]): Promise<void>
  isUp(): Promise<boolean>
  close(): Promise<void>
}

/** A confirmed publisher to exchange `configuration`. */
export async function connectConfigurationEvents(options: {
  url: string
  log: Log
}): Promise<ConfigurationEvents> {
  const { url, log } = options
  let channel: ConfirmChannel | undefined
  const connection = await connectBroker({
    url,
    log,
    setup: async (model) => {
      const opened = await openConfirmChannel(model, log)
      await opened.assertExchange(CONFIGURATION_EXCHANGE, 'topic', { durable: true })
      channel = opened
      opened.once('close', () => {
        if (channel === opened) channel = undefined
        // A channel closed by the broker alone would leave a live connection that publishes nothing.
        model.close().catch(() => {})
      })
    },
  })
  return {
    publish: async (changes) => {
      if (channel === undefined) throw new Error('the message broker is unavailable')
      for (const change of changes) publishOne(channel, change)
      await confirmed(channel)
    },
    isUp: async () => channel !== undefined,
    close: () => connection.close(),
  }
}

function publishOne(channel: ConfirmChannel, { resource, stored }: DocumentChange): void {
  const { _id, version, written } = stored
  channel.publish(CONFIGURATION_EXCHANGE, `${resource}.${written.as}`, body(resource, stored), {
    persistent: true,
    messageId: `${resource}/${_id.workspace}/${_id.id}/${version}`,
    type: DOCUMENT_CHANGE_TYPE,
    contentType: 'application/json',
    timestamp: Math.floor(Date.parse(written.at) / 1000),
    headers: { workspace: _id.workspace, version },
  })
}

/** The state after the change; `document` is null once it is deleted. */
function body(resource: string, { _id, version, written, doc }: DocumentChange['stored']): Buffer {
  const document = doc === undefined ? null : unescapeKeys(doc)
  const { workspace, id } = _id
  const { as: operation, at, by } = written
  const published: Published = {
    resource,
    workspace,
    _id: id,
    version,
    operation,
    at,
    by: { ...by },
    document,
  }
  return Buffer.from(JSON.stringify(published))
}

async function confirmed(channel: ConfirmChannel): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the message broker did not confirm in time')), CONFIRM_MS)
  })
  try {
    await Promise.race([channel.waitForConfirms(), late])
  } finally {
    clearTimeout(timer)
  }
}
