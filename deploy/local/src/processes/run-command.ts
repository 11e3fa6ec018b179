import { spawn } from 'node:child_process'
import { ownerMark } from './owned.ts'

const MAX_OUTPUT = 64_000
const KILL_MS = 30_000

/**
 * Runs a command to its end, at most `timeoutMs`; returns its standard output. Throws an Error with the last
 * line it wrote when it fails. An abort or the time-out interrupts it and waits for its end, 30 s.
 */
export async function runCommand(options: {
  command: string
  args: string[]
  /** The folder whose processes it counts among. */
  owner: string
  cwd?: string
  env?: Record<string, string>
  timeoutMs: number
  signal?: AbortSignal | undefined
}): Promise<string> {
  const { command, args, owner, cwd = owner, timeoutMs, signal } = options
  signal?.throwIfAborted()
  const child = spawn(command, args, {
    cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env, ...ownerMark(owner) },
  })
  const output = { out: '', all: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => append(output, text, true))
  child.stderr.setEncoding('utf8').on('data', (text: string) => append(output, text, false))
  // SIGINT: apt finishes the package it is at, so nothing stays half-installed.
  const interrupt = () => {
    child.kill('SIGINT')
    setTimeout(() => child.kill('SIGKILL'), KILL_MS).unref()
  }
  const timer = setTimeout(interrupt, timeoutMs)
  signal?.addEventListener('abort', interrupt)
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    signal?.throwIfAborted()
    if (code !== 0) throw new Error(lastLine(output.all) ?? `${command} ended with code ${code}`)
    return output.out
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', interrupt)
  }
}

function append(output: { out: string; all: string }, text: string, standard: boolean): void {
  output.all = (output.all + text).slice(-MAX_OUTPUT)
  if (standard) output.out = (output.out + text).slice(-MAX_OUTPUT)
}

function lastLine(text: string): string | undefined {
  // npm ends with where its log is, which says nothing about the failure.
  const lines = text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.includes('complete log of this run'))
  return lines.at(-1)?.trim()
}
