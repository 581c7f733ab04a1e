/** Form fields for a schema. */
import { useId } from 'react'
import type { Field, FormValues, SchemaForm } from './schema-form.ts'

export interface FieldsProps {
  readonly form: SchemaForm
  readonly filled: FormValues
  readonly onChange: (filled: FormValues) => void
}

export function Fields({ form, filled, onChange }: FieldsProps) {
  const id = useId() // a page may have several forms
  return (
    <>
      {form.fields.map((field, index) => (
        <FieldRow
          key={field.name}
          field={field}
          id={`${id}-${index}`}
          rows={form.of === 'value' ? 6 : 2}
          text={filled.get(field.name) ?? field.initial}
          onText={(text) => onChange(new Map(filled).set(field.name, text))}
        />
      ))}
    </>
  )
}

interface ControlProps {
  readonly field: Field
  readonly id: string
  readonly rows: number
  readonly text: string
  readonly onText: (text: string) => void
}

function FieldRow(props: ControlProps) {
  const { field, id } = props
  return (
    <div className="field" data-kind={field.kind}>
      <label htmlFor={id}>
        {field.title}
        {!field.required && <span className="step-kind"> optional</span>}
      </label>
      <Control {...props} />
      {field.about !== undefined && (
        <p className="hint" id={`${id}-about`}>
          {field.about}
        </p>
      )}
    </div>
  )
}

function Control({ field, id, rows, text, onText }: ControlProps) {
  const { kind, choices, placeholder, about } = field
  const named = { id, 'aria-describedby': about === undefined ? undefined : `${id}-about` }
  const typed = { ...named, value: text, placeholder }
  switch (kind) {
    case 'switch':
      return (
        <input
          {...named}
          type="checkbox"
          checked={text === 'true'}
          onChange={({ target }) => onText(String(target.checked))}
        />
      )
    case 'choice':
      return (
        <select {...named} value={text} onChange={({ target }) => onText(target.value)}>
          <option value="">–</option>
          {choices.map((choice, index) => (
            <option key={index} value={index}>
              {typeof choice === 'string' ? choice : JSON.stringify(choice)}
            </option>
          ))}
        </select>
      )
    case 'number':
    case 'integer':
      return <input {...typed} inputMode="decimal" onChange={({ target }) => onText(target.value)} />
    default:
      return <textarea {...typed} rows={rows} onChange={({ target }) => onText(target.value)} />
  }
}
