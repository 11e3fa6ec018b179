// Loads the modules of a process, waits for its environment from the parent, and then is that process.
//   node become-process.ts <script>, which has its modules in an app.ts beside it
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const script = process.argv[2] ?? ''
const leave = () => process.exit()
process.once('disconnect', leave)
const environment = new Promise<Record<string, string>>((resolve) => process.once('message', resolve))
await import(pathToFileURL(join(dirname(script), 'app.ts')).href)
Object.assign(process.env, await environment)
process.removeListener('disconnect', leave)
await import(pathToFileURL(script).href)
