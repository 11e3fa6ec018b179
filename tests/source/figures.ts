// Prints how large the tree is and how it is laid: node tests/source/figures.ts
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { circlesOf, filesOfTree, readModules, unusedExports } from './modules.ts'
import { pathFiles, walkFrom } from './walk.ts'

/** Files that commands write and git has all the same: the released API is compared with, the rest is read where no command runs. */
const GENERATED =
  /^docs\/(openapi-released\.json|((errors|environment|measurements|times|whatsapp)\.md|measurements\.json))$/
const DOCUMENTS = /^([A-Z]+|docs\/(adr\/)?[\w-]+)\.md$/
/** The first words of comments, of which some begin with a question in place of what a thing is or does. */
const COMMENT = /^\s*(?:\/\*\*|\/\/)\s+(\w+)/gm

const modules = await readModules()
const code = filesOfTree()
const tests = code.filter(isTest)
const sources = code.filter((file) => !isTest(file))
const generated = filesOfTree(GENERATED)

print('source files', sources.length)
print('source lines', linesOf(sources))
print('test files', tests.length)
print('test lines', linesOf(tests))
print('words of documents', wordsOf(filesOfTree(DOCUMENTS)))
const openings = [...sources, ...tests].flatMap((file) => [...readFileSync(file, 'utf8').matchAll(COMMENT)])
const questions = openings.filter(([, word = '']) => /^(What|Who|Whether)$/.test(word)).length
print(`comments of ${openings.length.toLocaleString('en')} that begin with What, Who or Whether`, questions)
print('circles of files', circlesOf(modules).length)
print('exports that no other file imports', unusedExports(modules).length)
const words = spawnSync(process.execPath, ['tests/source/provider-words.ts'], { encoding: 'utf8' })
print(
  'provider words outside the folders of providers',
  Number(/(\d+) provider words/.exec(words.stdout)?.[1]),
)
print('files of the path of a message', pathFiles().length)
const walk = await walkFrom('services/dispatcher/src/deliver/deliver-message.ts', 'deliver')
print('functions that the loop of a message leads to in its folder', walk.functions)
print('files that they are in', walk.files)
print('folders that they call', walk.folders)
for (const file of generated) print(`generated lines: ${file}`, linesOf([file]))

function isTest(file: string): boolean {
  return /(^|\/)tests?\//.test(file)
}

function linesOf(files: string[]): number {
  return files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0)
}

function wordsOf(files: string[]): number {
  return files.reduce((sum, file) => sum + (readFileSync(file, 'utf8').match(/\S+/g)?.length ?? 0), 0)
}

function print(name: string, figure: number): void {
  console.log(`${figure.toLocaleString('en').padStart(8)}  ${name}`)
}
