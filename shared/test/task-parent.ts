// Prints the id of its task process, and goes on as it is told to: node task-parent.ts <end|idle|busy>
import { createTaskProcess } from '@parley/shared/task-process/task-process'
import type { ForeignTask } from './foreign-task.ts'

const tasks = createTaskProcess<ForeignTask, unknown>(new URL('./foreign-task.ts', import.meta.url))
const taskMs = 600_000
console.log(JSON.stringify(await tasks.run('pid', { taskMs })))
if (process.argv[2] === 'busy') void tasks.run('match', { taskMs })
if (process.argv[2] === 'idle') setInterval(() => {}, 1_000)
