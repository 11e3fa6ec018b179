import { expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { connect } from 'amqplib'
import { openPublishChannel } from '../src/broker/publish-channel.ts'

test('a channel that the broker closes on a live connection is there again', async () => {
  const connection = await connect((await testServers()).amqpUrl)
  const publishChannel = openPublishChannel(createLog({ service: 'test', level: 'silent' }))
  publishChannel.attach(connection)
  const first = await eventually(() => publishChannel.current())
  await expect(first.checkQueue('no such queue')).rejects.toThrow('NOT_FOUND')
  const second = await eventually(() =>
    publishChannel.current() === first ? undefined : publishChannel.current(),
  )
  const { queue } = await second.assertQueue('', { exclusive: true })
  expect((await second.checkQueue(queue)).messageCount).toBe(0)
  await publishChannel.close()
  expect(publishChannel.current()).toBeUndefined()
  await connection.close()
})
