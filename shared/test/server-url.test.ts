import { describe, expect, test } from '@jest/globals'
import { amqpUrl, parseAmqpUrl, parseRedisUrl, redisUrl } from '@parley/shared/server-url'

const host = (hostname: string, port: number) => ({ hostname, port })

describe('the URL of RabbitMQ', () => {
  test.each([
    ['amqp://localhost', [host('localhost', 5672)], undefined],
    ['amqps://a:1,b,[::1]:3/', [host('a', 1), host('b', 5671), host('::1', 3)], ''],
    ['amqp://u:p@a.b-c:5/t%2f0?heartbeat=7', [host('a.b-c', 5)], 't/0'],
  ])('%s names its hosts and its virtual host', (text, hosts, path) => {
    expect(parseAmqpUrl(text)).toMatchObject({ hosts, path })
  })

  test('may hold a user and a password of any characters', () => {
    expect(parseAmqpUrl('amqp://a%40b:p:%2F@c')).toMatchObject({ username: 'a@b', password: 'p:/' })
  })

  test.each([
    '',
    'localhost',
    'http://a',
    'amqp://',
    'amqp://a:b',
    'amqp://a,',
    'amqp://a:0',
    'amqp://a:70000',
  ])('%j is refused', (text) => {
    expect(amqpUrl.safeParse(text).success).toBe(false)
  })
})

describe('the URL of Redis', () => {
  test.each([
    ['redis://a/3', 'single', [host('a', 6379)], '3'],
    ['rediss://:p@a:1', 'single', [host('a', 1)], undefined],
    ['redis+cluster://a,b:2', 'cluster', [host('a', 6379), host('b', 2)], undefined],
    ['rediss+sentinel://u:p@a,b/main/1', 'sentinel', [host('a', 26_379), host('b', 26_379)], 'main/1'],
  ])('%s', (text, kind, hosts, path) => {
    expect(parseRedisUrl(text)).toMatchObject({ kind, hosts, path })
  })

  test.each(['redis://a,b', 'redis+sentinel://a,b', 'redis+cluster://', 'memcached://a'])(
    '%j is refused',
    (text) => {
      expect(redisUrl.safeParse(text).success).toBe(false)
    },
  )
})
