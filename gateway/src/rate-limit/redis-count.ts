import type { Redis } from 'ioredis'
import type { SharedCount } from './settle.ts'

const ADD = `local sum = redis.call('INCRBY', KEYS[1], ARGV[1])
if sum == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return sum`

/** Counts in Redis, one command a key, so that in a cluster the keys may lie on different nodes. */
export function createRedisCount(redis: Redis): SharedCount {
  return {
    add: async ({ name, count, ttlMs }) => Number(await redis.eval(ADD, 1, name, count, ttlMs)),
  }
}
