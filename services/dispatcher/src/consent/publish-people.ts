import { createHash } from 'node:crypto'
import { PEOPLE_TYPE, type SeenPerson } from '@parley/shared/consent'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { PEOPLE_EXCHANGE, PEOPLE_QUEUE } from '@parley/shared/messaging/topology'

/** Tells who is concerned with people what is known of at most 500. Rejects while the broker is unavailable. */
export async function publishPeople(
  publisher: Pick<Publisher, 'publish'>,
  people: readonly SeenPerson[],
): Promise<void> {
  const body = Buffer.from(JSON.stringify({ people }))
  await publisher.publish({
    ...{ exchange: PEOPLE_EXCHANGE, routingKey: PEOPLE_QUEUE, mandatory: true, type: PEOPLE_TYPE, body },
    messageId: createHash('sha256').update(body).digest('base64url'),
  })
}
