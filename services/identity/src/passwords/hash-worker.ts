import { parentPort } from 'node:worker_threads'
import bcrypt from 'bcryptjs'
import type { HashTask } from './hash-pool.ts'

parentPort?.on('message', (task: HashTask) => {
  parentPort?.postMessage(
    'hash' in task ? bcrypt.compareSync(task.input, task.hash) : bcrypt.hashSync(task.input, task.cost),
  )
})
