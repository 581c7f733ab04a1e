/** Answer form of a paused run, specific to each question's kind or schema. */
import type { Question } from 'holdfast/client'
import { type FormEvent, useState } from 'react'
import { Fields } from '../form/fields.tsx'
import { type FormValues, formOf, isPlainText, readForm, readJson, type SchemaForm } from '../form/schema-form.ts'
import { Problem } from '../parts.tsx'

export interface QuestionsProps {
  readonly questions: readonly Question[]
  readonly onAnswer: (answers: Readonly<Record<string, unknown>>) => Promise<void>
}

export function Questions({ questions, onAnswer }: QuestionsProps) {
  const [given, setGiven] = useState<Readonly<Record<string, unknown>>>({})
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const send = async (answers: Readonly<Record<string, unknown>>): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      await onAnswer(answers)
    } catch (cause) {
      setProblem(cause)
    } finally {
      setBusy(false)
    }
  }
  const answer = (question: Question, value: unknown): void => {
    const answers = { ...given, [question.id]: value }
    setGiven(answers)
    if (questions.every(({ id }) => id in answers)) void send(answers)
  }
  return (
    <div className="questions">
      {questions.map((question) => (
        <fieldset key={question.id} disabled={busy} data-given={question.id in given || undefined}>
          <legend>{question.prompt}</legend>
          <QuestionForm question={question} onAnswer={(value) => answer(question, value)} />
        </fieldset>
      ))}
      {problem !== undefined && <Problem cause={problem} />}
    </div>
  )
}

interface QuestionFormProps {
  readonly question: Question
  readonly onAnswer: (value: unknown) => void
}

function QuestionForm({ question, onAnswer }: QuestionFormProps) {
  const { kind } = question
  const choices = choicesOf(question)
  if (kind === 'approval') return <Approval onAnswer={onAnswer} />
  if (kind === 'uncertain') return <Uncertain onAnswer={onAnswer} />
  if (kind === 'review') return <Review question={question} onAnswer={onAnswer} />
  if (choices?.several === true) return <Several names={choices.names} onAnswer={onAnswer} />
  if (choices !== undefined)
    return <Buttons choices={Object.fromEntries(choices.names.map((name) => [name, name]))} onAnswer={onAnswer} />
  const form = kind === 'tool' ? undefined : formOf(question.schema)
  if (form !== undefined && !isPlainText(form)) return <FormAnswer form={form} onAnswer={onAnswer} />
  return <TextAnswer isText={isText(question)} onAnswer={onAnswer} />
}

/** An interrupted tool call: repeat it, or enter its result. */
function Uncertain({ onAnswer }: { readonly onAnswer: (value: unknown) => void }) {
  const [result, setResult] = useState('')
  return (
    <>
      <label>
        Its result, if you know it, as JSON or text
        <textarea rows={2} value={result} onChange={({ target }) => setResult(target.value)} />
      </label>
      <div className="buttons">
        <button
          type="button"
          disabled={result === ''}
          onClick={() => onAnswer({ action: 'result', value: jsonOrText(result) })}
        >
          Continue with this result
        </button>
        <button type="button" onClick={() => onAnswer('retry')}>
          Repeat it
        </button>
        <button type="button" className="danger" onClick={() => onAnswer('fail')}>
          Fail the run
        </button>
      </div>
    </>
  )
}

interface SeveralProps {
  readonly names: readonly string[]
  readonly onAnswer: (value: unknown) => void
}

/** In the order of selection, which may matter to the component. */
function Several({ names, onAnswer }: SeveralProps) {
  const [chosen, setChosen] = useState<readonly string[]>([])
  return (
    <>
      <div className="checks">
        {names.map((name) => (
          <label key={name} className="inline">
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={({ target }) =>
                setChosen(target.checked ? [...chosen, name] : chosen.filter((each) => each !== name))
              }
            />
            {name}
          </label>
        ))}
      </div>
      <div className="buttons">
        <button type="button" className="primary" disabled={chosen.length === 0} onClick={() => onAnswer(chosen)}>
          Answer
        </button>
      </div>
    </>
  )
}

/** A form for the question's schema. */
function FormAnswer({ form, onAnswer }: { readonly form: SchemaForm; readonly onAnswer: (value: unknown) => void }) {
  const [filled, setFilled] = useState<FormValues>(new Map())
  const [wrong, setWrong] = useState<string>()
  const send = (event: FormEvent): void => {
    event.preventDefault()
    const read = readForm(form, filled)
    setWrong('wrong' in read ? read.wrong : undefined)
    if ('value' in read) onAnswer(read.value)
  }
  return (
    <form onSubmit={send}>
      <Fields form={form} filled={filled} onChange={setFilled} />
      {wrong !== undefined && <Problem cause={new Error(wrong)} />}
      <div className="buttons">
        <button type="submit" className="primary">
          Answer
        </button>
      </div>
    </form>
  )
}

function Approval({ onAnswer }: { readonly onAnswer: (value: unknown) => void }) {
  const [reason, setReason] = useState('')
  return (
    <>
      <label>
        Reason, if you deny it
        <input value={reason} onChange={({ target }) => setReason(target.value)} />
      </label>
      <div className="buttons">
        <button type="button" className="primary" onClick={() => onAnswer(true)}>
          Approve
        </button>
        <button
          type="button"
          className="danger"
          onClick={() => onAnswer(reason === '' ? false : { approved: false, reason })}
        >
          Deny
        </button>
      </div>
    </>
  )
}

function Review({ question, onAnswer }: QuestionFormProps) {
  const { output } = (question.details ?? {}) as { output?: unknown }
  const [text, setText] = useState(typeof output === 'string' ? output : JSON.stringify(output, undefined, 2))
  const [feedback, setFeedback] = useState('')
  const edited = typeof output === 'string' ? text : jsonOrText(text)
  return (
    <>
      <label>
        Output
        <textarea rows={5} value={text} onChange={({ target }) => setText(target.value)} />
      </label>
      <label>
        Feedback, if you send it back
        <input value={feedback} onChange={({ target }) => setFeedback(target.value)} />
      </label>
      <div className="buttons">
        <button type="button" className="primary" onClick={() => onAnswer({ action: 'accept' })}>
          Accept
        </button>
        <button type="button" onClick={() => onAnswer({ action: 'edit', output: edited })}>
          Accept as edited
        </button>
        <button
          type="button"
          className="danger"
          onClick={() => onAnswer({ action: 'reject', ...(feedback !== '' && { feedback }) })}
        >
          Send back
        </button>
      </div>
    </>
  )
}

interface ButtonsProps {
  readonly choices: Readonly<Record<string, string>>
  readonly onAnswer: (value: unknown) => void
}

function Buttons({ choices, onAnswer }: ButtonsProps) {
  return (
    <div className="buttons">
      {Object.entries(choices).map(([choice, title]) => (
        <button key={choice} type="button" onClick={() => onAnswer(choice)}>
          {title}
        </button>
      ))}
    </div>
  )
}

/** As text, or as JSON if text does not fit. */
function TextAnswer({
  isText: textual,
  onAnswer,
}: {
  readonly isText: boolean
  readonly onAnswer: (value: unknown) => void
}) {
  const [text, setText] = useState('')
  const send = (event: FormEvent): void => {
    event.preventDefault()
    onAnswer(textual ? text : jsonOrText(text))
  }
  return (
    <form onSubmit={send}>
      <label>
        {textual ? 'Answer' : 'Answer, as JSON'}
        <textarea rows={2} required value={text} onChange={({ target }) => setText(target.value)} />
      </label>
      <div className="buttons">
        <button type="submit" className="primary">
          Answer
        </button>
      </div>
    </form>
  )
}

function jsonOrText(text: string): unknown {
  const read = readJson(text, 'The answer')
  return 'value' in read ? read.value : text
}

function isText({ schema, kind }: Question): boolean {
  if (kind === 'tool') return false
  const { type } = (schema ?? {}) as { type?: unknown }
  return type === undefined || type === 'string'
}

interface Choices {
  readonly names: readonly string[]
  /** Multiple selection. */
  readonly several: boolean
}

function choicesOf({ schema, details }: Question): Choices | undefined {
  const { choices, multiple } = (details ?? {}) as { choices?: unknown; multiple?: unknown }
  const { enum: one, items } = (schema ?? {}) as { enum?: unknown; items?: { enum?: unknown } }
  const several = multiple === true || (one === undefined && items?.enum !== undefined)
  const found = [choices, one, items?.enum].find((each) => Array.isArray(each)) as unknown[] | undefined
  return found && { names: found.filter((choice) => typeof choice === 'string'), several }
}
