import { readFileSync } from 'node:fs'
import { text as streamText } from 'node:stream/consumers'
import { EXIT, Failure } from './failure.ts'

/** The JSON of a file, or of standard input where its name is `-`. Throws a Failure that names what is wrong. */
export async function readJsonFile(file: string): Promise<unknown> {
  const name = file === '-' ? 'Standard input' : file
  let content: string
  try {
    content = file === '-' ? await streamText(process.stdin) : readFileSync(file, 'utf8')
  } catch {
    throw new Failure(`${name} can not be read.`, EXIT.notFound)
  }
  try {
    return JSON.parse(content)
  } catch (error) {
    throw new Failure(`${name} is not JSON: ${(error as Error).message}`, EXIT.usage)
  }
}
