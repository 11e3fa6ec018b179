import { expect, test } from '@jest/globals'
import type { DeadLetter } from '@parley/shared/messaging/deliveries'
import { QUEUE_END_TYPE } from '@parley/shared/messaging/layout'
import type { ConsumeMessage } from 'amqplib'
import { createUntilEnd } from '../../src/intake/open-partition.ts'

const delivery = (type: string) => ({ properties: { type } }) as unknown as ConsumeMessage
const [MESSAGE, END] = [delivery('message'), delivery(QUEUE_END_TYPE)]

/** A queue, and how each of its messages ends, in the order in which they were taken. */
function startQueue() {
  const messages: PromiseWithResolvers<DeadLetter | undefined>[] = []
  const take = () => {
    const message = Promise.withResolvers<DeadLetter | undefined>()
    messages.push(message)
    return message.promise
  }
  return { messages, untilEnd: createUntilEnd({ take }) }
}

test('a queue is drained once its end has come and all in front of it is safe', async () => {
  const { messages, untilEnd } = startQueue()
  const [first, second] = [untilEnd.take(MESSAGE), untilEnd.take(MESSAGE)]
  const end = untilEnd.take(END)
  messages[1]?.resolve(undefined)
  await second
  expect(untilEnd.isDrained()).toBe(false)
  messages[0]?.resolve(undefined)
  await Promise.all([first, end])
  expect(untilEnd.isDrained()).toBe(true)
})

test('a message that is left leaves the end behind it, and both come again', async () => {
  const { messages, untilEnd } = startQueue()
  const left = untilEnd.take(MESSAGE)
  const end = untilEnd.take(END)
  messages[0]?.reject(new Error('left'))
  await expect(left).rejects.toThrow('left')
  await expect(end).rejects.toThrow('left')
  expect(untilEnd.isDrained()).toBe(false)
  const again = [untilEnd.take(MESSAGE), untilEnd.take(END)]
  messages[1]?.resolve(undefined)
  await Promise.all(again)
  expect(untilEnd.isDrained()).toBe(true)
})

test('the end of an empty queue drains it', async () => {
  const { untilEnd } = startQueue()
  await untilEnd.take(END)
  expect(untilEnd.isDrained()).toBe(true)
})
