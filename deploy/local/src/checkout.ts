import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root folder of this checkout. */
export const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url))

/** Where `npm start` stores its state. */
export const STATE_DIRECTORY = join(CHECKOUT, '.local')

/** Folder for what was downloaded or unpacked once; shared by `npm start` and the tests, safe to delete. */
export const CACHE_DIRECTORY = join(STATE_DIRECTORY, 'cache')
