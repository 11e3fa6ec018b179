import type { Config } from '../config.ts'
import { createThreadLog } from '../conversations/thread-log.ts'
import type { Outbound } from '../deliver/outbound.ts'
import { type Partition, type Partitions, startPartitions } from '../schedule/partitions.ts'
import type { Collections } from '../store/collections.ts'
import { createCommitter } from '../store/commit.ts'
import { createLeaseStore } from '../store/lease-store.ts'
import type { RecentlyStored } from '../store/recently-stored.ts'
import { createIntakeStore } from './intake-store.ts'
import { createNonSpeech } from './non-speech.ts'
import { openPartition } from './open-partition.ts'

type Opening = Parameters<typeof openPartition>[0]

/** Takes partitions, stores what arrives in them, and runs their threads. */
export function startIntake(
  options: Pick<Opening, 'instance' | 'heed' | 'deadLetters' | 'declare' | 'traffic' | 'log'> & {
    config: Pick<Config, 'INSTANCE_NAME'>
    collections: Collections
    outbound: Pick<Outbound, 'run' | 'agents' | 'channels'>
    reportPeople: Parameters<typeof createThreadLog>[0]['reportPeople']
    layout: Parameters<typeof startPartitions>[0]['layout']
    recentlyStored: RecentlyStored
    retentionMs: number
  },
): Partitions {
  const { config, collections, instance, outbound, recentlyStored, log } = options
  const { messages } = collections
  const { run, agents, channels } = outbound
  const threadLog = createThreadLog(options)
  const work = {
    ...options,
    ...{ threadLog, run, modelCalls: agents.calls },
    store: createIntakeStore({ messages, recentlyStored, log }),
    nonSpeech: createNonSpeech({ ...options, channels, threadLog }),
    committer: createCommitter(messages, instance),
    partitions: (): number => partitions.working().size,
  }
  const partitions = startPartitions({
    ...options,
    leases: createLeaseStore({ collections, instance, name: config.INSTANCE_NAME }),
    open: (lease): Partition => openPartition({ ...work, lease }),
  })
  return {
    ...partitions,
    close: async () => {
      await partitions.close()
      await threadLog.close()
    },
  }
}
