import { getHeapStatistics } from 'node:v8'
import { z } from 'zod'

const MIB = 1024 * 1024

interface Sizes {
  /** Node's heap of one process, without what is young. */
  heapMib: number
  /** Half of where what is young is: larger ones are collected less often. */
  semiSpaceMib: number
  /** Bodies that are read at a time, and of them those of one sender: callers, and whoever has not signed. */
  bodies: { authenticated: BodySizes; unsigned: BodySizes }
  /** Bytes of messages that wait for the broker's confirm. */
  unconfirmedBytes: number
  /** Connections of one service to MongoDB. */
  mongoConnections: number
  /** MongoDB's own cache, where it is started with the services. */
  mongoCacheGb: number
}

interface BodySizes {
  bytes: number
  perSender: number
}

const bodies = (scale: number) => ({
  authenticated: { bytes: 64 * scale * MIB, perSender: 24 * scale * MIB },
  unsigned: { bytes: 32 * scale * MIB, perSender: 4 * scale * MIB },
})

const SIZES: Record<Memory, Sizes> = {
  small: {
    heapMib: 320,
    semiSpaceMib: 8,
    bodies: bodies(1),
    unconfirmedBytes: 32 * MIB,
    mongoConnections: 20,
    mongoCacheGb: 0.25,
  },
  default: {
    heapMib: 1_024,
    semiSpaceMib: 16,
    bodies: bodies(4),
    unconfirmedBytes: 128 * MIB,
    mongoConnections: 50,
    mongoCacheGb: 0.5,
  },
  large: {
    heapMib: 4_096,
    semiSpaceMib: 32,
    bodies: bodies(8),
    unconfirmedBytes: 256 * MIB,
    mongoConnections: 100,
    mongoCacheGb: 2,
  },
}

/** The settings, from the smallest. */
export const MEMORY = ['small', 'default', 'large'] as const
export type Memory = (typeof MEMORY)[number]

/** The key that sizes what a system takes of memory. */
export const memoryConfig = {
  MEMORY: z
    .enum(MEMORY)
    .default('default')
    .describe(
      'How much memory it may take: sizes bodies being read, what waits for a confirm, and connections to MongoDB; under ' +
        '`npm start`, Compose and Helm also the heaps, and MongoDB’s cache where it is started with them ([capacity](capacity.md#memory))',
    ),
}

/** The sizes that a setting stands for. */
export const sizesOf = (memory: Memory): Sizes => SIZES[memory]

/** The arguments that give a Node process the heap of a setting. */
export function heapArguments(memory: Memory): string[] {
  const { heapMib, semiSpaceMib } = SIZES[memory]
  return [`--max-old-space-size=${heapMib}`, `--max-semi-space-size=${semiSpaceMib}`]
}

/** The heap that V8 allows a process with the arguments of a setting, in MiB: what is young has three semi-spaces. */
export function heapLimitMib(memory: Memory): number {
  const { heapMib, semiSpaceMib } = SIZES[memory]
  return heapMib + 3 * semiSpaceMib
}

// Code, stacks, sockets and what the allocator keeps, as measured after loads.
const NATIVE_MIB = 120

/** The heap that V8 allows this process, in MiB. */
const ownHeapMib = (): number => Math.round(getHeapStatistics().heap_size_limit / MIB)

/** Returns the bytes that foreign responses may take together while they arrive: a sixteenth of the heap. */
export const responseBytes = (heapMib = ownHeapMib()): number => (heapMib * MIB) / 16

/** The most that a process of this setting uses, in MiB: its heap, this process's own unless given, and buffers outside it. */
export function memoryBound(
  memory: Memory,
  heapMib = ownHeapMib(),
): { heapMib: number; buffersMib: number; atMostMib: number } {
  const { bodies, unconfirmedBytes } = SIZES[memory]
  const buffers = [
    bodies.authenticated.bytes,
    bodies.unsigned.bytes,
    unconfirmedBytes,
    responseBytes(heapMib),
  ]
  const buffersMib = Math.ceil(buffers.reduce((sum, bytes) => sum + bytes, 0) / MIB)
  return { heapMib, buffersMib, atMostMib: heapMib + buffersMib + NATIVE_MIB }
}
